/** Compares the cost of operations between sizes of the data, from a thousand rows to a million. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compare } from "../compare.ts";
import { folder, type StoreName } from "../data/stores.ts";
import { openAuthorization } from "../parts/authorization.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { operations } from "./operations.ts";

const MAX_RATIO = 1.3;
const SIZES = [1000, 10_000, 100_000, 1_000_000];
/** Rows of a further size on SQLite, such as 10000000; filling it takes a quarter of an hour and 32 GB. */
const HUGE = Number(process.env.BENCH_HUGE_ROWS ?? 0);
const COLD_CHECKS = 2000;

/** The figures of one operation at one size. The picture is drawn of these. */
export interface GrowthFigure {
  readonly store: StoreName;
  readonly operation: string;
  readonly rows: number;
  readonly p99: number;
  /** CPU time of the server per response, in microseconds. */
  readonly cpuUs: number;
}

export async function growth(store: StoreName): Promise<Line[]> {
  const sizes = SIZES.filter((rows) => rows <= scale.rows);
  const huge = store === "sqlite" && HUGE > 0 ? [HUGE] : [];
  const figures: GrowthFigure[] = [];
  for (const operation of operations) {
    await using cleanUp = new AsyncDisposableStack();
    const contenders = [];
    const measured = [...sizes, ...(operation.isForHuge ? huge : [])];
    for (const rows of measured) contenders.push(cleanUp.use(await operation.prepare(store, rows)).contender);
    const results = await compare("http1", contenders);
    figures.push(...results.map(({ p99, cpuUs }, i) => ({ store, operation: operation.name, rows: measured[i] ?? 0, p99, cpuUs })));
  }
  figures.push(...(await authorization(store, [...sizes, ...huge])));
  await writeFile(join(folder, `growth-${store}.json`), JSON.stringify(figures, undefined, 2));
  return [...Map.groupBy(figures, ({ operation }) => operation).values()].map(lineOf);
}

/** The rights of callers are read from the database, because those in the cache do not depend on it. */
async function authorization(store: StoreName, sizes: readonly number[]): Promise<GrowthFigure[]> {
  await using cleanUp = new AsyncDisposableStack();
  const opened = [];
  for (const rows of sizes)
    opened.push({ rows, checks: cleanUp.use(await openAuthorization(store, rows)), p99: [] as number[], cpu: [] as number[] });
  // The first round warms up.
  for (let round = 0; round <= scale.rounds; round++) {
    for (const { checks, p99, cpu } of opened) {
      const before = process.cpuUsage();
      const times = await checks.run(COLD_CHECKS, "cold");
      const { user, system } = process.cpuUsage(before);
      if (round === 0) continue;
      p99.push(times[Math.floor(COLD_CHECKS * 0.99)] ?? Number.NaN);
      cpu.push((user + system) / COLD_CHECKS);
    }
  }
  return opened.map(({ rows, p99, cpu }) => {
    return { store, operation: "Authorization, cold cache", rows, p99: median(p99), cpuUs: median(cpu) };
  });
}

function lineOf(figures: readonly GrowthFigure[]): Line {
  const [smallest, largest] = [figures[0], figures.at(-1)] as [GrowthFigure, GrowthFigure];
  const ratio = largest.p99 / smallest.p99;
  const each = figures.map(({ p99 }) => short(p99)).join(", ");
  return {
    measured: `${smallest.operation}, ${smallest.rows} to ${largest.rows} rows`,
    store: smallest.store,
    figure: `p99 ${each} ms: ${ratio.toFixed(2)}× (by CPU time ${(largest.cpuUs / smallest.cpuUs).toFixed(2)}×)`,
    target: `p99 ≤ ${MAX_RATIO}×`,
    holds: ratio <= MAX_RATIO,
  };
}
