import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { DeliveriesService } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { SubscriptionSettingsService } from "@holt/api/gen/holt/v1/subscriptions_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Subscriptions } from "@holt/api/gen/platform/events/v1/subscriptions_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertInvalid } from "../harness/refusal.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld, startWorld } from "../harness/world.ts";

const path = "/events/v1/subscriptions";
const SINK = "https://sink.example.com:8443/Hook/?a=%C3%A9&b=<b>&é=“x”";

describeWithWorld("subscriptions of version 1", (world) => {
  const list = async (query = "") => parse((await world.raw("GET", `${path}?${query}`)).text).items as JsonObject[];

  it("the sink of a subscription comes back byte for byte in both versions", async () => {
    const group = await world.group(world.orgUid);
    const answer = await world.raw("POST", `${path}/${group}`, { sink: SINK });
    assert.equal(answer.status, 200, answer.text);
    const { id, ...rest } = parse(answer.text);
    assert.deepEqual(rest, { sink: SINK });
    assert.match(textOf(id), new RegExp(`^${group}/[0-9a-f]{16}$`));
    assert.deepEqual(await list(`id=${textOf(id)}`), [{ id, sink: SINK }]);
    const v2 = await world.must(SubscriptionsService.method.getSubscription, { uid: textOf(id) });
    assert.equal(v2.sink, SINK);
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: group, subscription: { sink: SINK } });
    assert.deepEqual(await list(`uidp.children_of=${group}&uidp.ids=${uid}`), [{ id: uid, sink: SINK }]);
  });

  it("every client can create, list and delete a subscription, and a deleted one is not found", async () => {
    const group = await world.group(world.orgUid);
    for (const client of world.clients) {
      const { token } = world.owner;
      const sink = "https://localhost/callback";
      const { id } = answerOf(await client.call(Subscriptions.method.create, { parentId: group, subscription: { sink } }, token));
      const items = async () => answerOf(await client.call(Subscriptions.method.list, { id }, token)).items.map((item) => item.sink);
      assert.deepEqual(await items(), [sink]);
      assert.equal(codeOf(await client.call(Subscriptions.method.delete, { id }, token)), 0);
      assert.equal(codeOf(await client.call(Subscriptions.method.delete, { id }, token)), Code.NOT_FOUND);
      assert.deepEqual(await items(), []);
    }
  });

  it("http and https URLs are accepted as sinks, and others are refused", async () => {
    const parentId = await world.group(world.orgUid);
    for (const client of world.clients)
      for (const sink of ["http://127.0.0.1:9000/hook", "http://10.0.0.1/hook", "http://sink.example.com/hook", SINK]) {
        const { id } = answerOf(await client.call(Subscriptions.method.create, { parentId, subscription: { sink } }, world.owner.token));
        assert.equal((await world.must(SubscriptionsService.method.getSubscription, { uid: id })).sink, sink);
      }
    for (const sink of ["ftp://sink.example.com/", "no URL", "http://me:secret@sink.example.com/", "http:///hook", ""]) {
      const refused = await world.raw("POST", `${path}/${parentId}`, { sink });
      assertInvalid(refused, "sink");
      assert.match(refused.text, /sink must be a valid http or https URL/);
    }
  });

  it("a list has only the subscriptions that the caller may list", async () => {
    const [group, beside] = [await world.group(world.orgUid), await world.group(world.orgUid)];
    const robot = await world.robot(group, [Capability.CAP_EVENTS_SUBSCRIPTION_LIST]);
    const [mine, other] = await Promise.all(
      [group, beside].map(
        async (parentId) => (await world.must(Subscriptions.method.create, { parentId, subscription: { sink: SINK } })).id,
      ),
    );
    const ids = async (id = "") => (await world.must(Subscriptions.method.list, { id }, robot.token)).items.map((item) => item.id);
    assert.deepEqual(await ids(), [mine]);
    assert.deepEqual(await ids(other), []);
    assert.deepEqual(await ids("nonsense"), []);
    const refused = await world.raw("POST", `${path}/${group}`, { sink: SINK }, robot.token);
    assert.equal(refused.status, 403);
  });

  it("the events of both versions have the same type and subject, and the body of their version", async () => {
    const group = await world.group(world.orgUid);
    const { id } = await world.must(Subscriptions.method.create, { parentId: group, subscription: { sink: SINK } });
    await world.must(Subscriptions.method.delete, { id });
    const rows = await world.store.reader.selectFrom("outbox").selectAll().where("subject", "=", id).orderBy("seq").execute();
    assert.deepEqual(
      rows.map(({ type, source, group_uid, body_type, data }) => [type, source, group_uid, body_type, parse(data).body]),
      [
        [
          "dev.holt.api.events.subscription.created.v1",
          `${world.baseUrl}${path}`,
          group,
          "platform.events.v1.Subscription",
          { id, sink: SINK },
        ],
        [
          "dev.holt.api.events.subscription.deleted.v1",
          `${world.baseUrl}${path}`,
          group,
          "platform.events.v1.DeleteSubscriptionRequest",
          { id },
        ],
      ],
    );
  });
});

it("an http sink of version 1 receives nothing unless the operator allows its address", async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await using world = await startWorld({ env: { HOLT_OUTBOUND_ALLOW_CIDRS: "", HOLT_USER_ISSUERS: "" } });
    const sink = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { id: uid } = parse((await world.raw("POST", `${path}/${world.orgUid}`, { sink })).text);
    const { must } = world;
    const errors = async () =>
      (await must(DeliveriesService.method.listDeliveries, { uid: textOf(uid) })).deliveries.map(({ error }) => error);
    await until(async () => (await errors()).some((error) => error !== ""));
    assert.match((await errors()).join(), /must be reached by https/);
    assert.equal(requests, 0);
    const settings = { subscription: { uid: textOf(uid), types: ["registry.push.v1"] } };
    assert.equal((await must(SubscriptionSettingsService.method.updateSubscription, settings)).sink, sink);
  } finally {
    server.close();
  }
});

it("missing terms refuse a subscription of version 1 with a detail of version 1", async () => {
  for (const [vendor, type] of [
    ["", "platform.iam.v1.TermsNotAcceptedDetail"],
    ["chainguard", "chainguard.platform.iam.TermsNotAcceptedDetail"],
  ] as const) {
    await using world = await startWorld({ env: { HOLT_REQUIRED_TERMS: "tos.v1", HOLT_VENDOR_PROFILE: vendor } });
    const { text } = await world.raw("POST", `${path}/${world.orgUid}`, { sink: SINK });
    assert.ok(text.includes(`"@type":"type.googleapis.com/${type}"`), text);
    assert.equal((await world.raw("POST", `/iam/v1/terms/${world.orgUid}`, { documentIds: ["tos.v1"] })).status, 200);
    assert.equal((await world.raw("POST", `${path}/${world.orgUid}`, { sink: SINK })).status, 200);
  }
});
