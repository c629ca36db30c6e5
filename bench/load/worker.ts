/** What the processes that make load have in common: their orders come and their results go by messages of the parent process. */

export interface LoadSpec {
  readonly port: number;
  readonly connections: number;
  /** gRPC: calls under way at once on each connection. */
  readonly streams?: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** Base64. HTTP: whole requests. gRPC: messages. Taken in turn. */
  readonly requests: readonly string[];
  /** gRPC. */
  readonly path?: string;
  readonly token?: string;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface Run {
  isOver(): boolean;
  /** One answer, and after how many milliseconds it was there. Counts only after the warm-up. */
  record(ms: number): void;
}

/** Does what the parent process asks for, once for each message. `load` rejects on the first wrong answer: a figure for errors is no figure. */
export function measure(load: (spec: LoadSpec, run: Run) => Promise<void>): void {
  process.on("message", async (spec: LoadSpec) => {
    const begin = performance.now() + spec.warmUpMs;
    const end = begin + spec.durationMs;
    const times: number[] = [];
    const record = (ms: number) => {
      const now = performance.now();
      if (now >= begin && now < end) times.push(ms);
    };
    try {
      await load(spec, { isOver: () => performance.now() >= end, record });
      process.send?.({ result: resultOf(times, spec.durationMs) });
    } catch (error) {
      process.send?.({ error: String(error) });
    }
  });
}

function resultOf(times: number[], durationMs: number): LoadResult {
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(Math.floor(times.length * share), times.length - 1)] ?? Number.NaN;
  return { perSecond: (times.length / durationMs) * 1000, p50: at(0.5), p99: at(0.99) };
}
