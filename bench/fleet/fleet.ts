/**
 * Measures 1, 2 and 4 servers on one PostgreSQL: reads, pulls, writes and background work. On a machine with few
 * processors the servers, the database and the load compete, so the CPU time per answer and the waits in the database say
 * more than the rate.
 */
import { basic, createRegistryClient } from "../../packages/server/test/harness/registry/registry-client.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { backgroundWork } from "./background.ts";
import { type CallSpec, callAll, readOf } from "./calls.ts";
import { type Fleet, startFleet } from "./servers.ts";
import { sharedWork } from "./sharing.ts";
import { type Idle, measureIdle, spentDuring } from "./spent.ts";
import { sampleWaits } from "./waits.ts";

const SIZES = (process.env.BENCH_FLEET_SIZES ?? "1,2,4").split(",").map(Number);
const REPOSITORY = "my-org/app";
/** Calls of each kind to each server, first as a warm-up and then measured. */
const CALLS = Number(process.env.BENCH_FLEET_CALLS ?? 4000);

/** The cost of one kind of call. */
interface Cost {
  readonly perSecond: number;
  /** CPU time of a server per answer, in microseconds. */
  readonly serverUs: number;
  /** CPU time of PostgreSQL per answer, in microseconds. */
  readonly databaseUs: number;
  readonly waits: readonly string[];
}

export async function fleetParts(store: StoreName): Promise<Line[]> {
  if (store === "sqlite") return [];
  const lines: Line[] = [];
  for (const size of SIZES) {
    await using fleet = await startFleet(size);
    const specs = await kinds(fleet);
    // Each server compiles its hot code first, with as many calls whatever their number and however busy the machine is.
    for (const spec of specs.values()) await callServers(fleet, spec);
    const idle = await measureIdle(fleet);
    for (const [kind, spec] of specs) {
      const cost = await measure(fleet, spec, idle);
      const figure = `${short(cost.perSecond)}/s; CPU time per answer: server ${short(cost.serverUs)} µs, PostgreSQL ${short(cost.databaseUs)} µs; waits: ${cost.waits.join(", ") || "none"}`;
      lines.push({ measured: `${kind}, ${size} server${size > 1 ? "s" : ""}`, store, figure });
    }
  }
  return [...lines, ...(await backgroundWork(SIZES)), ...(await sharedWork(SIZES))];
}

async function kinds({ servers: [first], organization }: Fleet): Promise<ReadonlyMap<string, CallSpec>> {
  using registry = createRegistryClient(`http://127.0.0.1:${first.port}`, basic("_token", first.token));
  const { digest } = await registry.image(REPOSITORY, "latest");
  const headers = { authorization: basic("_token", first.token) };
  return new Map<string, CallSpec>([
    ["reads", readOf(organization)],
    ["pulls of a manifest", { method: "GET", path: `/v2/${REPOSITORY}/manifests/${digest}`, headers }],
    ["writes", { method: "POST", path: `/iam/v2/groups/${organization}`, body: '{"name":"created"}' }],
  ]);
}

async function callServers({ servers }: Fleet, spec: CallSpec): Promise<void> {
  await callAll(
    servers.map((server) => ({ server, spec })),
    CALLS,
    scale.connections,
  );
}

/** Polling costs CPU time per second and not per answer, so it is subtracted: a busy machine answers less per second. */
async function measure(fleet: Fleet, spec: CallSpec, idle: Idle): Promise<Cost> {
  const waits = sampleWaits(fleet.client);
  const spent = await spentDuring(fleet, () => callServers(fleet, spec));
  const answers = CALLS * fleet.servers.length;
  const us = (seconds: number, idlePart: number) => ((seconds - idlePart * spent.seconds) / answers) * 1e6;
  return {
    perSecond: answers / spent.seconds,
    serverUs: us(spent.server, idle.server),
    databaseUs: us(spent.database, idle.database),
    waits: await waits.end(),
  };
}
