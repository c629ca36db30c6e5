/** Measures the latency for one client that sends one request at a time. */
import { compare } from "./compare.ts";
import { type Line, short } from "./report.ts";
import type { Served } from "./servers.ts";

/** @param limitMs target for the 99th percentile; undefined if there is none */
export async function latency(
  measured: string,
  { name, server }: Pick<Served<unknown>, "name" | "server">,
  requests: readonly string[],
  limitMs: number | undefined,
): Promise<Line> {
  const [figures] = await compare("http1", [{ pid: server.pid, load: { port: server.port, connections: 1, requests } }]);
  const { p50 = Number.NaN, p99 = Number.NaN, atBest = Number.NaN, cpuUs = Number.NaN } = figures ?? {};
  const figure = `p50 ${short(p50)} ms, p99 ${short(p99)} ms, at best ${short(atBest)} ms, ${short(cpuUs / 1000)} ms of server CPU time`;
  return { measured, store: name, figure, ...(limitMs !== undefined && { target: `p99 ≤ ${limitMs} ms`, holds: p99 <= limitMs }) };
}
