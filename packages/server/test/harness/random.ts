/** A small seeded random generator (mulberry32), so that runs can be repeated. */

export interface Random {
  /** An integer from 0 to below `limit`. */
  below(limit: number): number;
  pick<T>(values: readonly T[]): T;
  /** True with probability 1/n. */
  oneIn(n: number): boolean;
}

export function createRandom(seed: number): Random {
  let state = seed | 0;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  };
  return {
    below,
    pick: <T>(values: readonly T[]) => values[below(values.length)] as T,
    oneIn: (n) => below(n) === 0,
  };
}

/** The seed of this run; TEST_SEED replaces it. */
export function seedOf(fallback: number): number {
  return Number(process.env.TEST_SEED ?? fallback);
}

/** Number of times that a test repeats its faults; TEST_ROUNDS replaces it, for longer runs. */
export function roundsOf(fallback: number): number {
  return Number(process.env.TEST_ROUNDS ?? fallback);
}
