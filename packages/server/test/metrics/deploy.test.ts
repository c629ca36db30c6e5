/** The dashboard and the alert rules in deploy/ name only metrics that a server has, and each alert has its section in the runbook. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";
import { startServer, storeNames } from "../harness/harness.ts";
import { type Settings, temporaryFolder } from "../harness/holtd.ts";
import { metricsAddress, namesIn } from "../harness/metrics.ts";
import { startProcesses } from "../harness/processes.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

interface Query {
  readonly place: string;
  readonly expr: string;
}

const rules = (parse(read("deploy/prometheus/holt-alerts.yaml")) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read("deploy/grafana/holt.json")) as { panels: Panel[]; templating: { list: { query: string }[] } };

const alertQueries: Query[] = rules.map(({ alert: place, expr }) => ({ place, expr }));
const panelQueries: Query[] = dashboard.panels.flatMap(({ title: place, targets = [] }) => targets.map(({ expr }) => ({ place, expr })));
const variables = dashboard.templating.list.map(({ query }) => query);

/** Made by Prometheus itself. */
const OF_PROMETHEUS = new Set(["up"]);

/** @throws AssertionError for a query that is not PromQL */
function metricsIn({ place, expr }: Query): string[] {
  // Grafana replaces its variables before Prometheus reads the query.
  const query = expr.replaceAll("$__rate_interval", "5m");
  const names: string[] = [];
  parser.parse(query).iterate({
    enter({ name, type, from, to, node }) {
      assert.ok(!type.isError, `${place}: not PromQL at character ${from}: ${query}`);
      if (name === "Identifier" && node.parent?.name === "VectorSelector") names.push(query.slice(from, to));
    },
  });
  assert.ok(names.length > 0, `${place}: names no metric`);
  return names;
}

test("dashboard and alert rules name only metrics that a server has", async () => {
  const known = new Set(OF_PROMETHEUS);
  for (const store of storeNames) {
    const metrics = await metricsAddress();
    await using folder = await temporaryFolder();
    const archive: Settings = store === "sqlite" ? { HOLT_WAL_ARCHIVE: folder.path } : {};
    await using _server = await startServer({ store, env: { HOLT_METRICS_LISTEN: metrics.listen, ...archive } });
    for (const name of namesIn(await metrics.scrape())) known.add(name);
  }
  await using processes = await startProcesses(2);
  for (const name of namesIn(await processes.scrape())) known.add(name);
  const unknown = [...alertQueries, ...panelQueries].flatMap((query) =>
    metricsIn(query).flatMap((name) => (known.has(name) ? [] : [`${query.place}: ${name}`])),
  );
  assert.deepEqual(unknown, []);
  for (const query of variables) {
    const [, name] = /^label_values\((\w+)/.exec(query) ?? [];
    assert.ok(name === undefined || known.has(name), query);
  }
});

test("the check of metric names finds a name that does not exist, and a query that is not PromQL", () => {
  assert.deepEqual(metricsIn({ place: "a", expr: 'sum by (code) (rate(holt_invented_total{code="x"}[$__rate_interval]))' }), [
    "holt_invented_total",
  ]);
  assert.throws(() => metricsIn({ place: "a", expr: "sum(holt_calls_total" }), /not PromQL/);
});

test("each alert has a section of its own in the runbook, and each section an alert", () => {
  const sections = Array.from(read("docs/runbook.md").matchAll(/^## (\w+)$/gm), (match) => match[1]);
  assert.deepEqual(
    sections,
    rules.map(({ alert }) => alert),
  );
  for (const { alert, annotations, labels } of rules) {
    assert.equal(annotations.runbook, `docs/runbook.md#${alert.toLowerCase()}`);
    assert.match(annotations.summary, /\.$/);
    assert.ok(["warning", "critical"].includes(labels.severity), alert);
  }
});
