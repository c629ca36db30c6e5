/**
 * Counts per key. A key whose count is zero is forgotten, but not at once. Busy keys go to zero and back all the time, and
 * a Map that loses and gains the same key again and again allocates a new table every few times.
 */

/** Keys at zero that may stay. */
const MAX_ZEROS = 64;

export class Tally<Key> {
  readonly #counts: Map<Key, number>;
  #zeros = 0;

  constructor(counts: Iterable<readonly [Key, number]> = []) {
    this.#counts = new Map(counts);
  }

  get(key: Key): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: Key, amount: number): void {
    if (amount === 0) return;
    const before = this.#counts.get(key);
    const count = (before ?? 0) + amount;
    this.#counts.set(key, count);
    if (before === 0) this.#zeros--;
    if (count === 0 && ++this.#zeros > MAX_ZEROS) this.#forgetZeros();
  }

  /** The keys whose count is not zero, with their counts. */
  counts(): [Key, number][] {
    return [...this.#counts].filter(([, count]) => count !== 0);
  }

  /** Keys in memory, for tests. */
  get size(): number {
    return this.#counts.size;
  }

  #forgetZeros(): void {
    for (const [key, count] of this.#counts) if (count === 0) this.#counts.delete(key);
    this.#zeros = 0;
  }
}
