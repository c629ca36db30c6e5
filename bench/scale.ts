/** Reads the size and the duration of the benchmark from the environment. */

const rows = Number(process.env.BENCH_ROWS ?? 1_000_000);

export const scale = {
  /** Number of identities in the large database. */
  rows,
  /** Number of identities in the small database, which serves as the comparison. */
  fewRows: Math.min(1000, rows),
  rounds: Number(process.env.BENCH_ROUNDS ?? 3),
  /** The length of a round. */
  round: {
    durationMs: Number(process.env.BENCH_SECONDS ?? 4) * 1000,
    warmUpMs: Number(process.env.BENCH_WARM_UP ?? 1.5) * 1000,
    calls: process.env.BENCH_CALLS === undefined ? undefined : Number(process.env.BENCH_CALLS),
  },
  /** Concurrent connections of a load generator. */
  connections: 32,
};

const filters = new RegExp(process.env.BENCH_FILTERS ?? "");

/** Whether a list is measured, by its name in the report. */
export function isChosen(list: string): boolean {
  return filters.test(list);
}
