/** The metrics of a running server, as Prometheus scrapes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceLimitsService } from "@holt/api/gen/holt/v1/resource_limits_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { startServer, storeNames } from "../harness/harness.ts";
import { linesOf, metricsAddress, metricValue } from "../harness/metrics.ts";
import { until } from "../harness/wait.ts";
import { startWebhookReceiver } from "../harness/webhook-receiver.ts";
import { startWorld } from "../harness/world.ts";

const GET_GROUP = "platform.iam.v2.GroupsService/GetGroup";

for (const store of storeNames) {
  test(`metrics count calls by operation, code and protocol on ${store}`, async () => {
    const metrics = await metricsAddress();
    await using server = await startServer({ store, env: { HOLT_METRICS_LISTEN: metrics.listen } });
    for (const client of server.clients) await client.call(GroupsService.method.getGroup, { uid: server.orgUid }, server.token);
    await server.rest.call(GroupsService.method.getGroup, { uid: server.orgUid }, "no token");
    const text = await metrics.scrape();
    const calls = (code: string, protocol: string) => metricValue(text, "holt_calls_total", { operation: GET_GROUP, code, protocol });
    assert.deepEqual([calls("OK", "rest"), calls("OK", "grpc"), calls("UNAUTHENTICATED", "rest")], [1, 1, 1]);
    assert.equal(metricValue(text, "holt_call_duration_seconds_count", { operation: GET_GROUP, protocol: "rest" }), 2);
    assert.ok(text.endsWith("# EOF\n"));
  });

  test(`metrics show the database, the queues, the registry and the process on ${store}`, async () => {
    const metrics = await metricsAddress();
    await using world = await startWorld({ store, env: { HOLT_METRICS_LISTEN: metrics.listen } });
    await world.group(world.orgUid);
    const limits = { uid: world.orgUid, identities: 1000, storageMb: 5 };
    await world.must(ResourceLimitsService.method.updateResourceLimits, { resourceLimits: limits });
    const text = await metrics.scrape();
    const value = (name: string, labels?: Record<string, string>) => metricValue(text, name, labels) ?? Number.NaN;
    assert.ok(value("holt_database_bytes") > 10_000);
    assert.ok(value("holt_database_wal_bytes") > 0);
    assert.ok(value("holt_database_statement_duration_seconds_count", { kind: "write" }) > 0);
    assert.ok(value("holt_database_statement_duration_seconds_count", { kind: "read" }) > 0);
    assert.ok(value("holt_database_transaction_duration_seconds_count", { outcome: "committed" }) > 0);
    if (store === "postgres") assert.ok(value("holt_database_connections", { pool: "write", state: "open" }) > 0);
    // Background work may be about to write.
    else await until(async () => metricValue(await metrics.scrape(), "holt_database_waiting_writes") === 0);
    assert.equal(value("holt_calls_running"), 0);
    assert.ok(value("holt_disk_free_bytes", { folder: "data" }) > 0);
    assert.equal(value("holt_disk_reserved_bytes"), 512 * 1024 ** 2);
    for (const limit of ["repositories", "identities", "subscriptions", "idps"])
      assert.ok(value("holt_organization_limit_usage_ratio", { limit }) >= 0, limit);
    assert.equal(value("holt_organization_limit_usage_ratio", { limit: "storage_mb" }), 0);
    assert.equal(value("holt_blobs"), 0);
    assert.equal(value("holt_blob_bytes"), 0);
    assert.equal(value("holt_uploads"), 0);
    assert.equal(value("holt_subscriptions_paused"), 0);
    for (const queue of [
      "deliveries",
      "image-packages",
      "image-facts",
      "repo-sync",
      "matching",
      "mirrors",
      "fetches",
      "imports",
      "mails",
    ]) {
      assert.equal(value("holt_jobs_waiting", { queue }), 0, queue);
      assert.equal(value("holt_jobs_running", { queue }), 0, queue);
      assert.equal(value("holt_jobs_oldest_age_seconds", { queue }), 0, queue);
    }
    assert.ok(value("holt_cache_requests_total", { cache: "access-tokens", outcome: "miss" }) > 0);
    assert.ok(value("nodejs_heap_size_used_bytes") > 0);
    assert.ok(value("nodejs_eventloop_lag_p99_seconds") >= 0);
    assert.ok(text.includes("nodejs_gc_duration_seconds"));
  });

  test(`metrics count no work as running whose lease a clock far ahead wrote on ${store}`, async () => {
    const metrics = await metricsAddress();
    await using world = await startWorld({ store, env: { HOLT_METRICS_LISTEN: metrics.listen } });
    const entry = (org_uid: string, leaseMs: number) => {
      const lease_time = new Date(world.clock.now().getTime() + leaseMs).toISOString();
      return { org_uid, turn_time: "", lease_holder: "another server", lease_time };
    };
    const rows = [entry("held", 60_000), entry("ahead", 3_600_000)];
    await world.store.transaction((db) => db.insertInto("match_turn").values(rows).execute());
    assert.equal(metricValue(await metrics.scrape(), "holt_jobs_running", { queue: "matching" }), 1);
  });

  test(`metrics count deliveries, token exchanges and fetches of keys by outcome on ${store}`, async () => {
    const metrics = await metricsAddress();
    await using receiver = await startWebhookReceiver();
    await using world = await startWorld({ store, env: { HOLT_METRICS_LISTEN: metrics.listen } });
    await world.must(SubscriptionsService.method.createSubscription, { parent: world.orgUid, subscription: { sink: receiver.url } });
    await world.group(world.orgUid);
    await until(() => receiver.received.length > 0);
    await world.user();
    await world.raw("POST", "/sts/exchange", undefined, "no.valid.token");
    await until(async () => (metricValue(await metrics.scrape(), "holt_deliveries_total", { outcome: "delivered" }) ?? 0) > 0);
    const text = await metrics.scrape();
    assert.ok((metricValue(text, "holt_token_exchanges_total", { kind: "exchange", outcome: "OK" }) ?? 0) > 0);
    assert.ok((metricValue(text, "holt_jwks_fetches_total", { outcome: "ok" }) ?? 0) > 0);
  });
}

test("callers cannot add label values to metrics", async () => {
  const metrics = await metricsAddress();
  await using server = await startServer({ env: { HOLT_METRICS_LISTEN: metrics.listen } });
  const attempts = Array.from({ length: 50 }, (_, i) => [
    server.http("GET", `/iam/v2/invented-${i}`),
    server.http("GET", `/v2/invented-${i}/manifests/x`),
    server.http(`INVENTED${i}`, "/v2/", undefined, {}).catch(() => {}),
    server.http("GET", `/libraries/python/invented-${i}/simple/`),
    server.http("POST", "/platform.iam.v2.GroupsService/Invented", "{}", { "content-type": "application/json" }),
  ]);
  await Promise.all(attempts.flat());
  const text = await metrics.scrape();
  assert.ok(!/invented/i.test(text));
  const protocols = linesOf(text).filter(({ name }) => name === "holt_protocol_requests_total");
  assert.ok(protocols.length > 0 && protocols.length < 20, `${protocols.length} series`);
});

test("a server without HOLT_METRICS_LISTEN serves no metrics", async () => {
  await using server = await startServer();
  assert.equal((await server.http("GET", "/metrics")).status, 404);
});

test("the metrics address serves nothing but metrics", async () => {
  const metrics = await metricsAddress();
  await using _server = await startServer({ env: { HOLT_METRICS_LISTEN: metrics.listen } });
  assert.equal((await fetch(`http://${metrics.listen}/iam/v2/groups`)).status, 404);
  assert.equal((await fetch(`http://${metrics.listen}/metrics`, { method: "POST" })).status, 405);
});

test("a server whose metrics address is in use names the setting", async () => {
  const metrics = await metricsAddress();
  await using _server = await startServer({ env: { HOLT_METRICS_LISTEN: metrics.listen } });
  await assert.rejects(startServer({ env: { HOLT_METRICS_LISTEN: metrics.listen } }), /HOLT_METRICS_LISTEN/);
});
