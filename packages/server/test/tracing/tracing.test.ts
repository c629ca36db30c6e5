/** The traces of a running server, as an OpenTelemetry collector gets them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { storeNames } from "../harness/harness.ts";
import { get, printedToken, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";
import { type CollectedSpan, startCollector } from "../harness/otlp-collector.ts";
import { until } from "../harness/wait.ts";
import { startWebhookReceiver } from "../harness/webhook-receiver.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN = "b7ad6b7169203331";
const PARENT = `00-${TRACE}-${CLIENT_SPAN}-01`;
const CREATE_GROUP = "platform.iam.v2.GroupsService/CreateGroup";

/** Asserts that the span is below the other one, and returns it. */
function assertBelow(span: CollectedSpan | undefined, ancestor: CollectedSpan, spans: readonly CollectedSpan[]): CollectedSpan {
  assert.ok(span !== undefined);
  let at: CollectedSpan | undefined = span;
  while (at !== undefined && at.spanId !== ancestor.spanId) at = spans.find(({ spanId }) => spanId === at?.parentSpanId);
  assert.equal(at?.spanId, ancestor.spanId, `${span.name} is not below ${ancestor.name}`);
  return span;
}

for (const store of storeNames) {
  test(`a call continues the trace of its client, with spans for its parts, on ${store}`, async () => {
    await using collector = await startCollector();
    await using receiver = await startWebhookReceiver();
    await using folder = await temporaryFolder();
    const settings = {
      HOLT_DATA_DIR: join(folder.path, "data"),
      HOLT_DATABASE_URL: await createDatabaseOn(store),
      HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: "100",
    };
    await using server = await startHoltd(settings);
    const token = await printedToken({ ...settings, HOLT_BASE_URL: server.baseUrl });
    const { json } = await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
    const organization = (json as { groups: { uid: string }[] }).groups[0]?.uid ?? "";
    const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
      const init = { method: "POST", body: JSON.stringify(body), headers: { authorization: `Bearer ${token}`, ...headers } };
      const response = await fetch(server.baseUrl + path, init);
      assert.equal(response.status, 200, await response.clone().text());
    };
    await post(`/events/v2/subscriptions/${organization}`, { sink: receiver.url });
    await post(`/iam/v2/groups/${organization}`, { name: "private-name" }, { traceparent: PARENT, "content-type": "application/json" });

    await until(() => collector.of(TRACE).some(({ name }) => name === CREATE_GROUP));
    const spans = collector.of(TRACE);
    const call = spans.find(({ name }) => name === CREATE_GROUP)!;
    assert.equal(call.parentSpanId, CLIENT_SPAN);
    assert.equal(call.attributes["rpc.system.name"], "rest");
    assert.match(String(call.attributes["holt.principal"]), /^[0-9a-f]/);
    assertBelow(
      spans.find(({ name }) => name === "authentication"),
      call,
      spans,
    );
    assertBelow(
      spans.find(({ name }) => name === "authorization"),
      call,
      spans,
    );
    const transaction = assertBelow(
      spans.find(({ name }) => name === "transaction"),
      call,
      spans,
    );
    const insert = spans.find(({ attributes }) => /^insert into "group"/.test(String(attributes["db.query.text"])));
    assertBelow(insert, transaction, spans);
    assert.ok(!JSON.stringify(spans).includes("private-name"), "a statement's text has no values");

    await until(() => receiver.received.length > 0);
    const [delivery] = receiver.received;
    const [, traceId = "", spanId] = /^00-(\w{32})-(\w{16})-01$/.exec(String(delivery?.headers.traceparent)) ?? [];
    await until(() => collector.of(traceId).some((span) => span.spanId === spanId));
    const sent = collector.of(traceId).find((span) => span.spanId === spanId);
    assert.equal(sent?.name, "outbound POST");
    assert.equal(sent?.attributes["http.response.status_code"], 200);

    const lines = server
      .stderr()
      .split("\n")
      .filter((line) => line.includes(CREATE_GROUP));
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { traceId?: string }).traceId),
      [TRACE],
    );
  });
}

test("requests of other protocols are traced with the content that they read and write", async () => {
  await using collector = await startCollector();
  await using folder = await temporaryFolder();
  const settings = {
    HOLT_DATA_DIR: join(folder.path, "data"),
    HOLT_REGISTRY_CREATE_FOLDERS: "on",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "100",
  };
  await using server = await startHoltd({ ...settings, HOLT_ORG_NAME: "acme" });
  const token = await printedToken({ ...settings, HOLT_BASE_URL: server.baseUrl });
  const headers = { authorization: `Bearer ${token}`, traceparent: PARENT, "content-type": "application/octet-stream" };
  const digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
  const pushed = await fetch(`${server.baseUrl}/v2/acme/app/blobs/uploads/?digest=${digest}`, { method: "POST", headers, body: "foo" });
  assert.equal(pushed.status, 201, await pushed.text());
  const hasNamed = (name: string) => collector.of(TRACE).some((span) => span.name === name);
  await until(() => hasNamed("registry POST") && hasNamed("blob append") && hasNamed("blob commit"));
  const spans = collector.of(TRACE);
  const request = spans.find(({ name }) => name === "registry POST")!;
  assert.equal(request.attributes["http.response.status_code"], 201);
  assertBelow(
    spans.find(({ name }) => name === "blob append"),
    request,
    spans,
  );
  assert.equal(
    assertBelow(
      spans.find(({ name }) => name === "blob commit"),
      request,
      spans,
    ).attributes["holt.blob.digest"],
    digest,
  );
});

test("a refused call ends its span with an error", async () => {
  await using collector = await startCollector();
  await using folder = await temporaryFolder();
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: "100" };
  await using server = await startHoltd({ HOLT_DATA_DIR: join(folder.path, "data"), ...endpoint });
  await fetch(`${server.baseUrl}/iam/v2/groups`, { headers: { authorization: "Bearer nonsense", traceparent: PARENT } });
  await until(() => collector.of(TRACE).some(({ name }) => name.endsWith("/ListGroups")));
  const [call] = collector.of(TRACE).filter(({ name }) => name.endsWith("/ListGroups"));
  assert.equal(call?.status, 2);
});

test("a server stops in time while its collector does not answer", async () => {
  await using folder = await temporaryFolder();
  await using server = await startHoltd({ HOLT_DATA_DIR: join(folder.path, "data"), OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
  assert.equal((await fetch(`${server.baseUrl}/readyz`)).status, 200);
  server.kill("SIGTERM");
  assert.equal((await server.ended).code, 0);
});

/** Reports each import of a library that measures or traces, on standard error. */
const REPORT_IMPORTS = `import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    if (/^(@opentelemetry|prom-client)/.test(specifier)) console.error("imports " + specifier);
    return next(specifier, context);
  },
});`;

test("a server without an endpoint for traces and an address for metrics loads none of their libraries", async () => {
  await using folder = await temporaryFolder();
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(REPORT_IMPORTS)}`;
  await using collector = await startCollector();
  // A watched server runs the sources. Only they import packages by their names.
  const settings = { NODE_OPTIONS, WATCH_REPORT_DEPENDENCIES: "1", HOLT_DATA_DIR: join(folder.path, "data") };
  {
    await using server = await startHoltd(settings);
    assert.doesNotMatch(server.stderr(), /imports/);
  }
  await using server = await startHoltd({ ...settings, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  assert.match(server.stderr(), /imports @opentelemetry/);
});

test("a collector that cannot be reached is logged once, and again when it works", async () => {
  await using folder = await temporaryFolder();
  const port = await freePort();
  const settings = {
    HOLT_DATA_DIR: folder.path,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: "200",
    OTEL_BSP_SCHEDULE_DELAY: "100",
  };
  await using server = await startHoltd(settings);
  const times = (message: string) => server.stderr().split(message).length - 1;
  const call = () => fetch(`${server.baseUrl}/ping/v2`).then((answer) => answer.text());
  await until(() => call().then(() => times("sending traces failed") === 1));
  await using collector = await startCollector(port);
  await until(() => call().then(() => times("sending traces works again") === 1));
  assert.ok(collector.spans.length > 0);
  assert.equal(times("sending traces failed"), 1);
});
