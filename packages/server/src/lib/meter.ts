/**
 * The interface through which the server reports metrics. Only the folder metrics/ knows how they are stored and
 * served. A definition lists the values of each label, so no caller can add a time series.
 */

/** Name of a label → its values. Any other value is reported as `other`. The set may grow while the server starts. */
export type Labels = Readonly<Record<string, ReadonlySet<string>>>;

export interface MetricDefinition {
  /** As Prometheus shows it: `holt_calls_total`, `holt_call_duration_seconds`. */
  readonly name: string;
  readonly help: string;
  readonly labels?: Labels;
}

/** A number that only grows. Label values are in the order of the definition. */
export interface Counter {
  add(amount: number, ...labelValues: readonly string[]): void;
}

/** Durations in seconds. Label values are in the order of the definition. */
export interface Histogram {
  observe(seconds: number, ...labelValues: readonly string[]): void;
}

/** One value, with a value for each label in the order of the definition. */
export interface Sample {
  readonly value: number;
  readonly labelValues?: readonly string[];
}

export interface ReadDefinition extends MetricDefinition {
  readonly type: "gauge" | "counter";
  /** The least time between two reads, for reads that cost something. A scrape between them gets the last result. */
  readonly everyMs?: number;
}

/** An empty list omits the metric from the scrape. */
export type ReadSamples = () => readonly Sample[] | Promise<readonly Sample[]>;

export interface Meter {
  counter(definition: MetricDefinition): Counter;
  histogram(definition: MetricDefinition): Histogram;
  /** A metric that is read when it is scraped. Several reads of one name contribute to the same metric. */
  read(definition: ReadDefinition, read: ReadSamples): void;
}

const nothing = () => {};

/** Measures nothing, for servers without metrics and for commands. */
export const noMeter: Meter = {
  counter: () => ({ add: nothing }),
  histogram: () => ({ observe: nothing }),
  read: nothing,
};

/** A cache that counts its look-ups. */
export interface CountedCache {
  readonly hits: number;
  readonly misses: number;
}

const CACHE_NAMES = ["access-tokens", "content-logins", "pull-tokens", "rights", "sign-in-policies"] as const;
const cacheLabels: Labels = { cache: new Set(CACHE_NAMES), outcome: new Set(["hit", "miss"]) };

/** Reports the look-ups of a cache. */
export function meterCache(meter: Meter, name: (typeof CACHE_NAMES)[number], cache: CountedCache): void {
  const help = "Look-ups in caches of this server.";
  meter.read({ type: "counter", name: "holt_cache_requests_total", help, labels: cacheLabels }, () => [
    { value: cache.hits, labelValues: [name, "hit"] },
    { value: cache.misses, labelValues: [name, "miss"] },
  ]);
}
