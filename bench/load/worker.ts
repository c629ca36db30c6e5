/** Shared by the load generators: receives specifications from the parent process and sends the results back. */

export interface LoadSpec {
  readonly port: number;
  readonly connections: number;
  /** gRPC: concurrent calls per connection. */
  readonly streams?: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** Responses of the warm-up, and then of the measurement, in place of their durations. */
  readonly calls?: number | undefined;
  /** Base64 of whole requests (HTTP) or messages (gRPC), sent in rotation. */
  readonly requests: readonly string[];
  /** gRPC: path of the method. */
  readonly path?: string;
  readonly token?: string;
}

export interface LoadResult {
  readonly responses: number;
  readonly perSecond: number;
  /** p50 and p99 are latencies in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** One connection: the latency of the slowest request in its fastest response, which hardly depends on other load. */
  readonly atBest: number;
}

/** From the load generator to its parent: the warm-up is over, or the result, or an error. */
export interface LoadMessage {
  readonly result?: LoadResult;
  readonly error?: string;
}

export interface Run {
  isOver(): boolean;
  /** Records the latency of one response in milliseconds. Ignored during the warm-up. */
  record(ms: number): void;
}

/**
 * Runs `load` for each specification from the parent. `load` must reject on the first wrong response, because the
 * figures would be meaningless.
 */
export function measure(load: (spec: LoadSpec, run: Run) => Promise<void>): void {
  process.on("message", async (spec: LoadSpec) => {
    const times: number[] = [];
    let answered = 0;
    let begin = Number.POSITIVE_INFINITY;
    let end = Number.POSITIVE_INFINITY;
    const beginMeasuring = () => {
      begin = performance.now();
      if (spec.calls === undefined) end = begin + spec.durationMs;
      process.send?.({});
    };
    if (spec.calls === undefined) setTimeout(beginMeasuring, spec.warmUpMs);
    const record = (ms: number) => {
      const now = performance.now();
      if (now >= begin && now < end) times.push(ms);
      if (++answered === spec.calls) beginMeasuring();
      if (times.length === spec.calls) end = Math.min(end, now);
    };
    try {
      await load(spec, { isOver: () => performance.now() >= end, record });
      const atBest = slowestAtBest(times, spec.requests.length);
      process.send?.({ result: { ...resultOf(times, end - begin), atBest } });
    } catch (error) {
      process.send?.({ error: String(error) });
    }
  });
}

/** @param times of requests in rotation */
function slowestAtBest(times: readonly number[], requests: number): number {
  const best = new Array<number>(Math.min(requests, times.length)).fill(Number.POSITIVE_INFINITY);
  for (const [i, ms] of times.entries()) best[i % requests] = Math.min(best[i % requests]!, ms);
  return Math.max(...best);
}

function resultOf(times: number[], durationMs: number): Omit<LoadResult, "atBest"> {
  times.sort((a, b) => a - b);
  const at = (quantile: number) => times[Math.min(Math.floor(times.length * quantile), times.length - 1)] ?? Number.NaN;
  return { responses: times.length, perSecond: (times.length / durationMs) * 1000, p50: at(0.5), p99: at(0.99) };
}
