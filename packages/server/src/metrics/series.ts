/**
 * The values of one metric, by label values. Adding to a series costs some ten nanoseconds, a twentieth of what
 * prom-client takes to hash the labels. prom-client reads the series when it is scraped.
 */
import type { Labels } from "../lib/meter.ts";

/** Replaces a value that the definition does not list. */
export const OTHER = "other";

type Node<T> = Map<string, Node<T> | T>;

/** The series of a metric. There are at most as many as combinations of the listed label values. */
export class SeriesByLabels<T extends object> {
  readonly #names: readonly string[];
  readonly #allowed: readonly ReadonlySet<string>[];
  readonly #create: () => T;
  readonly #root: Node<T> = new Map();
  readonly #all: { readonly labels: Readonly<Record<string, string>>; readonly series: T }[] = [];

  constructor(labels: Labels, create: () => T) {
    this.#names = Object.keys(labels);
    this.#allowed = Object.values(labels);
    this.#create = create;
    if (this.#names.length === 0) this.find([]);
  }

  /** The series of these label values, in the order of the definition. */
  find(values: readonly string[]): T {
    let node: Node<T> | T | undefined = this.#root;
    for (const value of values) {
      node = (node as Node<T>).get(value);
      if (node === undefined) return this.#add(values);
    }
    return node instanceof Map ? this.#add(values) : (node as T);
  }

  [Symbol.iterator]() {
    return this.#all[Symbol.iterator]();
  }

  /** Adds the series, or finds the one with `other` in place of values that are not listed. */
  #add(given: readonly string[]): T {
    const values = this.#names.map((_, i) => (this.#allowed[i]?.has(given[i] ?? "") ? given[i]! : OTHER));
    const key = values.length === 0 ? [""] : values;
    let node = this.#root;
    for (const value of key.slice(0, -1)) {
      const next = node.get(value) ?? new Map();
      node.set(value, next);
      node = next as Node<T>;
    }
    const last = key.at(-1)!;
    const known = node.get(last);
    if (known !== undefined) return known as T;
    const series = this.#create();
    node.set(last, series);
    this.#all.push({ labels: Object.fromEntries(this.#names.map((name, i) => [name, values[i]!])), series });
    return series;
  }
}

export interface Total {
  value: number;
}

/** Upper bounds of the buckets, in seconds. */
export const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** Durations by bucket. The last bucket holds those above all bounds. */
export class Durations {
  readonly counts = new Float64Array(BUCKETS.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += seconds;
  }
}
