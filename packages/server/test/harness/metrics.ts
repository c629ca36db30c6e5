/** Reads metrics in the OpenMetrics text format. */
import { freePort } from "./free-port.ts";

/** One line of a scrape. */
export interface MetricLine {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A free address for HOLT_METRICS_LISTEN, and a function that scrapes it. */
export async function metricsAddress(): Promise<{ readonly listen: string; scrape(): Promise<string> }> {
  const listen = `127.0.0.1:${await freePort()}`;
  return {
    listen,
    async scrape() {
      const response = await fetch(`http://${listen}/metrics`);
      if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
      return response.text();
    },
  };
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

export function linesOf(text: string): MetricLine[] {
  return text.split("\n").flatMap((line) => {
    const [, name = "", labels = "", value = ""] = LINE.exec(line) ?? [];
    if (name === "") return [];
    const pairs = Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), (match): [string, string] => [match[1]!, match[2]!]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** The value of the line with these labels among others; undefined if there is none. */
export function metricValue(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const wanted = Object.entries(labels);
  return linesOf(text).find((line) => line.name === name && wanted.every(([label, value]) => line.labels[label] === value))?.value;
}

/** Names of all metrics that the server declares, with and without values: as queries name them. */
export function namesIn(text: string): Set<string> {
  const types = Array.from(text.matchAll(/^# TYPE (\w+) (\w+)$/gm), (match): [string, string] => [match[1]!, match[2]!]);
  return new Set(
    types.flatMap(([name, type]) => {
      if (type === "histogram") return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
      return [type === "counter" ? `${name}_total` : name];
    }),
  );
}
