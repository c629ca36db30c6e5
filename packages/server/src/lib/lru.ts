/**
 * A map that evicts the least recently used entry when it is full. A used entry moves to the end only
 * once a quarter of the capacity has come after it. Until then it is far from its eviction, and moving it at each look-up would cost more
 * than the look-up.
 */
export class Lru<K, V> {
  readonly #capacity: number;
  /** Keys are in the order of their places. */
  readonly #entries = new Map<K, Entry<K, V>>();
  /** The number of places that were given out. */
  #places = 0;
  /** Look-ups that found an entry, and those that did not. */
  hits = 0;
  misses = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.misses++;
      return undefined;
    }
    this.hits++;
    if (this.#isBehind(entry)) this.#moveToEnd(entry);
    return entry.value;
  }

  set(key: K, value: V): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.value = value;
      if (this.#isBehind(known)) this.#moveToEnd(known);
      return;
    }
    this.#entries.set(key, { key, value, place: this.#places++ });
    if (this.#entries.size > this.#capacity) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  #isBehind({ place }: Entry<K, V>): boolean {
    return this.#places - place > this.#capacity / 4;
  }

  /** Keeps the key that the entry was added with. An equal string of a request would live as long as the entry. */
  #moveToEnd(entry: Entry<K, V>): void {
    this.#entries.delete(entry.key);
    entry.place = this.#places++;
    this.#entries.set(entry.key, entry);
  }
}

interface Entry<K, V> {
  readonly key: K;
  value: V;
  /** Grows with each place behind it. */
  place: number;
}
