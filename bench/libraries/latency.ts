/** How long one client waits that sends one request after the other. */
import { compare } from "../compare.ts";
import { type Line, short } from "../report.ts";
import type { Served } from "../servers.ts";
import type { Contents } from "./catalogue.ts";

/** @param limitMs of the 99th percentile; undefined where nothing is asked */
export async function latency(
  what: string,
  { name, server }: Served<Contents>,
  requests: readonly string[],
  limitMs: number | undefined,
): Promise<Line> {
  const [figures] = await compare("http1", [{ pid: server.pid, load: { port: server.port, connections: 1, requests } }]);
  const { p50 = Number.NaN, p99 = Number.NaN, cpuUs = Number.NaN } = figures ?? {};
  const figure = `p50 ${short(p50)} ms, p99 ${short(p99)} ms, ${short(cpuUs / 1000)} ms of the server's processor time`;
  return { what, store: name, figure, ...(limitMs !== undefined && { target: `p99 ≤ ${limitMs} ms`, holds: p99 <= limitMs }) };
}
