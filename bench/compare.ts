/**
 * Measures several servers alternately (A B A B), so that other load on the machine affects all of them alike. Reports
 * the median of the rounds.
 */
import type { LoadResult, LoadSpec } from "./load/worker.ts";
import { cpuSeconds, cpuSecondsOfAll, makeLoad } from "./process.ts";
import { median } from "./report.ts";
import { scale } from "./scale.ts";

export interface Contender {
  readonly pid: number;
  /** Whether CPU time includes that of child processes. */
  readonly hasChildren?: boolean;
  readonly load: Omit<LoadSpec, keyof typeof scale.round>;
}

export interface Figures extends LoadResult {
  /** Server CPU time per response, in microseconds. */
  readonly cpuUs: number;
}

export async function compare(kind: "http1" | "grpc", contenders: readonly Contender[]): Promise<Figures[]> {
  const rounds: Figures[][] = [];
  for (let round = 0; round < scale.rounds; round++) {
    const figures: Figures[] = [];
    for (const contender of contenders) figures.push(await measureOnce(kind, contender));
    rounds.push(figures);
  }
  return contenders.map((_, i) => {
    const medianOf = (key: keyof Figures) => median(rounds.map((figures) => figures[i]![key]));
    const [responses, perSecond] = [medianOf("responses"), medianOf("perSecond")];
    const atBest = Math.min(...rounds.map((figures) => figures[i]!.atBest));
    return { responses, perSecond, p50: medianOf("p50"), p99: medianOf("p99"), atBest, cpuUs: medianOf("cpuUs") };
  });
}

async function measureOnce(kind: "http1" | "grpc", { pid, hasChildren = false, load }: Contender): Promise<Figures> {
  const cpuTime = hasChildren ? cpuSecondsOfAll : cpuSeconds;
  let before = Number.NaN;
  const result = await makeLoad(kind, { ...load, ...scale.round }, () => {
    before = cpuTime(pid);
  });
  return { ...result, cpuUs: ((cpuTime(pid) - before) / result.responses) * 1e6 };
}
