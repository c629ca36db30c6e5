/** At most so much work of a kind at a time: who comes beside that is refused at once, and does not wait. */

export type Limit = <T>(work: () => Promise<T>) => Promise<T>;

/** @param refused what whoever is one too many is told */
export function createLimit(max: number, refused: () => Error): Limit {
  let running = 0;
  return async (work) => {
    if (running >= max) throw refused();
    running++;
    try {
      return await work();
    } finally {
      running--;
    }
  };
}
