/** Compares Holt with a limit server, which does only the work that the answer needs, and with a bare one, which does none. */
import { compare, type Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { framed, postGrpc } from "../load/grpc-calls.ts";
import type { LoadSpec } from "../load/worker.ts";
import { type BareServer, startBare, startLimit } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import type { Served } from "../servers.ts";
import type { LimitPlan, PreparedCall } from "./plan.ts";

/** Few connections with many concurrent calls each, like typical gRPC clients. */
const GRPC_CONNECTIONS = 4;

/** The least ratios of Holt to the other servers, by CPU time per answer. */
export interface LimitTargets {
  readonly limit: Readonly<Record<StoreName, number>>;
  /** SQLite only: with PostgreSQL, waiting for the database takes most of the time. */
  readonly bare?: number;
}

interface Comparison {
  readonly measured: string;
  readonly holt: Pick<Served<unknown>, "name" | "server">;
  readonly plan: LimitPlan;
  readonly targets: LimitTargets;
  readonly load: Omit<LoadSpec, keyof typeof scale.round | "port">;
  /** Fails if the limit server's answer has another length, as a wrong answer would have. */
  readonly isExact?: boolean;
}

/** @param answer the body that Holt sends */
export async function compareRest(comparison: Comparison & { readonly answer: string }): Promise<Line> {
  const { plan, answer, load, isExact = true } = comparison;
  await using limit = await startLimit("http1", plan);
  await using bare = await startBare("http1", Buffer.from(answer));
  if (isExact) await assertSame(limit, load.requests[0] ?? "", answer);
  return await compareServers("http1", comparison, [limit, bare]);
}

/** Sends the request of a load generator. @throws Error if the answer is another one */
async function assertSame({ port }: BareServer, request: string, expected: string): Promise<void> {
  const [method, path] = Buffer.from(request, "base64").toString().split(" ", 2);
  const answer = await (await fetch(`http://127.0.0.1:${port}${path}`, { method: method ?? "" })).text();
  if (answer !== expected) throw new Error(`the limit server sends ${answer.slice(0, 500)} in place of ${expected.slice(0, 500)}`);
}

/** @param messages requests, with the uids that the statement of the plan needs */
export async function compareGrpc(
  comparison: Omit<Comparison, "load" | "isExact"> & { readonly path: string },
  messages: readonly { readonly message: Uint8Array; readonly uid: string }[],
): Promise<Line> {
  const { path, plan, holt } = comparison;
  const { port, token } = holt.server;
  const answers = await postGrpc(
    port,
    { path, token },
    messages.map(({ message }) => message),
  );
  const calls = messages.map(({ message, uid }, i): PreparedCall => {
    return { request: framed(message).toString("base64"), uid, answer: answers[i]!.toString("base64") };
  });
  await using limit = await startLimit("http2", { ...plan, calls } as LimitPlan);
  await using bare = await startBare("http2", Buffer.from(calls[0]?.answer ?? "", "base64"));
  const requests = messages.map(({ message }) => Buffer.from(message).toString("base64"));
  const load = { connections: GRPC_CONNECTIONS, streams: scale.connections / GRPC_CONNECTIONS, path, token, requests };
  return await compareServers("grpc", { ...comparison, load }, [limit, bare]);
}

async function compareServers(
  kind: "http1" | "grpc",
  { measured, holt, load, targets }: Pick<Comparison, "measured" | "holt" | "load" | "targets">,
  others: readonly BareServer[],
): Promise<Line> {
  const contenders = [holt.server, ...others].map(({ pid, port }) => ({ pid, load: { ...load, port } }));
  return limitLine(measured, holt.name, (await compare(kind, contenders)) as [Figures, Figures, Figures], targets);
}

function limitLine(
  measured: string,
  store: StoreName,
  [holt, limit, bare]: readonly [Figures, Figures, Figures],
  targets: LimitTargets,
): Line {
  const ratioTo = (other: Figures) => other.cpuUs / holt.cpuUs;
  const described = (name: string, other: Figures) => {
    const ratios = `ratio ${(holt.perSecond / other.perSecond).toFixed(2)} (by CPU time ${ratioTo(other).toFixed(2)})`;
    return `${name} ${short(other.perSecond)}/s: ${ratios}`;
  };
  const least = { limit: targets.limit[store], bare: store === "sqlite" ? targets.bare : undefined };
  const bareTarget = least.bare === undefined ? "" : `, ≥ ${least.bare.toFixed(2)} of bare`;
  return {
    measured,
    store,
    figure: `${short(holt.perSecond)}/s, p99 ${short(holt.p99)} ms, ${short(holt.cpuUs)} µs; ${described("limit", limit)}; ${described("bare", bare)}`,
    target: `CPU time ≥ ${least.limit.toFixed(2)} of limit${bareTarget}`,
    holds: ratioTo(limit) >= least.limit && (least.bare === undefined || ratioTo(bare) >= least.bare),
  };
}
