/** Keeps the metrics of the process and writes them in the OpenMetrics format. Only this file knows prom-client. */
import { collectDefaultMetrics, type Metric, type MetricValue, type OpenMetricsContentType, Registry } from "prom-client";
import type { Counter, Histogram, Meter, MetricDefinition, ReadDefinition, ReadSamples, Sample } from "../lib/meter.ts";
import { Readings } from "./readings.ts";
import { BUCKETS, Durations, OTHER, SeriesByLabels, type Total } from "./series.ts";

export interface Metrics extends Meter {
  readonly contentType: string;
  /** All metrics, in the format of `contentType`. */
  scrape(): Promise<string>;
}

type Value = MetricValue<string>;

/** @param labels of every series */
export function createMetrics(labels: Readonly<Record<string, string>> = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  // The types of prom-client allow only the other format.
  (registry as unknown as Registry<OpenMetricsContentType>).setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  // Event-loop lag, heap, garbage collection, CPU time, open files.
  collectDefaultMetrics({ register: registry });
  const reads = new Map<string, ReadMetric>();
  return {
    contentType: registry.contentType,
    scrape: () => registry.metrics(),
    counter(definition) {
      const series = new SeriesByLabels<Total>(definition.labels ?? {}, () => ({ value: 0 }));
      register(registry, "counter", definition, () => Array.from(series, ({ labels, series: { value } }) => ({ labels, value })));
      return counterOf(series);
    },
    histogram(definition) {
      const series = new SeriesByLabels(definition.labels ?? {}, () => new Durations());
      const { name } = definition;
      register(registry, "histogram", definition, () => [...series].flatMap(({ labels, series }) => bucketsOf(name, labels, series)));
      return { observe: (seconds, ...labelValues) => series.find(labelValues).observe(seconds) } satisfies Histogram;
    },
    read(definition, read) {
      const known = reads.get(definition.name) ?? new ReadMetric(definition);
      if (!reads.has(definition.name)) register(registry, definition.type, definition, () => known.values());
      reads.set(definition.name, known);
      known.add(definition, read);
    },
  };
}

function counterOf(series: SeriesByLabels<Total>): Counter {
  return {
    add(amount, ...labelValues) {
      series.find(labelValues).value += amount;
    },
  };
}

/** prom-client writes every object that has the fields of its own metrics. */
function register(
  registry: Registry,
  type: "counter" | "gauge" | "histogram",
  { name, help }: MetricDefinition,
  values: () => readonly Value[] | Promise<readonly Value[]>,
): void {
  const metric = {
    name,
    help,
    type,
    // prom-client removes `_total` from the name of a counter and adds it to each value.
    async get() {
      return { name: metric.name, help, type, values: await values(), aggregator: "sum" };
    },
    reset() {},
  };
  registry.registerMetric(metric as unknown as Metric<string>);
}

function bucketsOf(name: string, labels: Readonly<Record<string, string>>, { counts, sum }: Durations): Value[] {
  let count = 0;
  const buckets = Array.from(counts, (inBucket, i) => {
    count += inBucket;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(BUCKETS[i] ?? "+Inf") }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
    { metricName: `${name}_count`, labels: { ...labels }, value: count },
  ] as Value[];
}

/** A metric that is read when it is scraped. */
class ReadMetric {
  readonly #definition: ReadDefinition;
  readonly #readings: Readings[] = [];

  constructor(definition: ReadDefinition) {
    this.#definition = definition;
  }

  add({ everyMs = 0 }: ReadDefinition, read: ReadSamples): void {
    this.#readings.push(new Readings(read, everyMs));
  }

  async values(): Promise<Value[]> {
    const samples = await Promise.all(this.#readings.map((readings) => readings.latest()));
    return samples.flat().map((sample) => ({ value: sample.value, labels: this.#labelsOf(sample) }));
  }

  #labelsOf({ labelValues = [] }: Sample): Record<string, string> {
    const labels = Object.entries(this.#definition.labels ?? {});
    return Object.fromEntries(labels.map(([name, values], i) => [name, values.has(labelValues[i] ?? "") ? labelValues[i]! : OTHER]));
  }
}
