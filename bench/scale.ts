/** How much is measured, from the environment. */

const rows = Number(process.env.BENCH_ROWS ?? 1_000_000);

export const scale = {
  /** Identities of the large database. */
  rows,
  /** Of the small one, which the large one is held against. */
  fewRows: Math.min(1000, rows),
  rounds: Number(process.env.BENCH_ROUNDS ?? 3),
  durationMs: Number(process.env.BENCH_SECONDS ?? 4) * 1000,
  warmUpMs: 1500,
  /** Connections that make load together. */
  connections: 32,
};
