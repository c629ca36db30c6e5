/** Measures several servers in turn, A B A B, so that what else the machine does meets all of them alike; what counts is the median of the rounds. */
import type { LoadResult, LoadSpec } from "./load/worker.ts";
import { cpuSeconds, makeLoad } from "./process.ts";
import { median } from "./report.ts";
import { scale } from "./scale.ts";

export interface Contender {
  readonly pid: number;
  readonly load: Omit<LoadSpec, "warmUpMs" | "durationMs">;
}

export interface Figures extends LoadResult {
  /** Processor time of the server for one answer, in microseconds. */
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
    const of = (key: keyof Figures) => median(rounds.map((figures) => figures[i]![key]));
    return { perSecond: of("perSecond"), p50: of("p50"), p99: of("p99"), cpuUs: of("cpuUs") };
  });
}

async function measureOnce(kind: "http1" | "grpc", { pid, load }: Contender): Promise<Figures> {
  const { warmUpMs, durationMs } = scale;
  const before = cpuSeconds(pid);
  const result = await makeLoad(kind, { ...load, warmUpMs, durationMs });
  // The warm-up is in the processor time, so it is counted in the answers, too, at the rate of the rest.
  const answers = (result.perSecond * (warmUpMs + durationMs)) / 1000;
  return { ...result, cpuUs: ((cpuSeconds(pid) - before) / answers) * 1e6 };
}
