/**
 * Measures the extra cost of sharing a database. Processes that compete for few processors take more CPU time for the same
 * work, and batch less of it, whether they share it or not. So each round measures servers that share a database, and then as
 * many servers that share nothing: those with a processor each would be as many times as fast as one of them.
 */
import { startSink } from "../events/servers.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { callAll, readOf } from "./calls.ts";
import { deliveries } from "./deliveries.ts";
import { imports } from "./imports.ts";
import { type Fleet, startFleet } from "./servers.ts";
import { measureIdle } from "./spent.ts";
import { costOf, ROUNDS, type Work } from "./work.ts";

/** Reads of a round, of all servers together. */
const READS = 40_000;
/** The most that servers that share a database may spend on a read, as a multiple of what servers that share nothing spend. */
const MAX_READ_COST = 1 / 0.9;

export async function sharedWork(sizes: readonly number[]): Promise<Line[]> {
  const lines: Line[] = [];
  for (const size of sizes.filter((size) => size > 1)) {
    await using stack = new AsyncDisposableStack();
    const sink = stack.use(await startSink());
    const shared = [stack.use(await startFleet(size))];
    const alone = await Promise.all(Array.from({ length: size }, async () => stack.use(await startFleet(1))));
    lines.push(compare(size, await rounds(shared, alone, reads), MAX_READ_COST));
    lines.push(compare(size, await rounds(shared, alone, (fleets) => deliveries(fleets, sink))));
    lines.push(compare(size, await rounds(shared, alone, imports)));
  }
  return lines;
}

interface Rounds {
  readonly kind: string;
  readonly costs: readonly { readonly shared: number; readonly alone: number }[];
}

async function rounds(
  shared: readonly Fleet[],
  alone: readonly Fleet[],
  workOf: (fleets: readonly Fleet[]) => Promise<Work>,
): Promise<Rounds> {
  const [together, apart] = [await workOf(shared), await workOf(alone)];
  const costs = [];
  for (let round = 0; round < ROUNDS; round++) costs.push({ shared: await measure(shared, together), alone: await measure(alone, apart) });
  return { kind: `${together.count} ${together.kind}`, costs };
}

async function measure(fleets: readonly Fleet[], work: Work): Promise<number> {
  await work.prepare();
  return costOf(fleets, work, await Promise.all(fleets.map(measureIdle)));
}

function compare(size: number, { kind, costs }: Rounds, maxCost?: number): Line {
  const ratios = costs.map(({ shared, alone }) => shared / alone);
  const ratio = median(ratios);
  const [each, eachAlone] = [median(costs.map(({ shared }) => shared)), median(costs.map(({ alone }) => alone))];
  const figure = `CPU time ${short(each)} ms each, ${short(eachAlone)} ms if they share nothing; ratios ${ratios.map(short).join(", ")}, median ${short(ratio)}`;
  const target = maxCost !== undefined && { target: `≤ ${short(maxCost)} × servers that share nothing`, holds: ratio <= maxCost };
  return { measured: `${kind}, ${size} servers share a database`, store: "postgres", figure, ...target };
}

/** The servers warm up first. */
async function reads(fleets: readonly Fleet[]): Promise<Work> {
  const servers = fleets.flatMap(({ servers, organization }) => servers.map((server) => ({ server, spec: readOf(organization) })));
  const run = () => callAll(servers, READS / servers.length, scale.connections);
  const work = { kind: "reads", count: READS, prepare: async () => {}, run };
  await run();
  return work;
}
