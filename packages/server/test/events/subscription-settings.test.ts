/** The settings of subscriptions that can be changed, the limit of subscriptions, and deliveries by event type. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { DeliveriesService, SubscriptionStatus_State } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { SubscriptionSettingsService } from "@holt/api/gen/holt/v1/subscriptions_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { until } from "../harness/wait.ts";
import { accept, startWebhookReceiver, type WebhookReceiver } from "../harness/webhook-receiver.ts";
import { describeWithWorld } from "../harness/world.ts";

const { getSubscription, updateSubscription } = SubscriptionSettingsService.method;
const { createSubscription, deleteSubscription } = SubscriptionsService.method;
const { getSubscriptionStatus, listDeliveries, sendTestEvent } = DeliveriesService.method;
const { createGroup, updateGroup } = GroupsService.method;

describeWithWorld("settings of subscriptions", (world) => {
  let sink: WebhookReceiver;
  let paths = 0;
  /** The subscribed groups. The event of their own creation may be delivered, too, if it was not published before the subscription. */
  const groups = new Set<string>();
  before(async () => {
    sink = await startWebhookReceiver();
  });
  after(() => sink[Symbol.asyncDispose]());

  async function subscribe(): Promise<{ uid: string; group: string; path: string }> {
    const path = `/settings-${++paths}`;
    const group = await world.group(world.orgUid);
    groups.add(group);
    const { uid } = await world.must(createSubscription, { parent: group, subscription: { sink: sink.url + path } });
    await until(async () => typesAt(path).length > 0);
    return { uid, group, path };
  }
  const typesAt = (path: string) =>
    sink
      .accepted(path)
      .filter(({ headers }) => !groups.has(String(headers["ce-subject"])))
      .map(({ headers }) => String(headers["ce-type"]).replace(/^dev\.holt\./, ""));
  const update = (subscription: { uid: string; sink?: string; types?: string[] }, paths?: string[]) =>
    world.must(updateSubscription, { subscription, ...(paths !== undefined && { updateMask: { paths } }) });

  it("a subscription with types receives only events of these types, and tests", async () => {
    const { uid, group, path } = await subscribe();
    await update({ uid, types: ["api.iam.group.created.v1", "dev.holt.libraries.*"] });
    const { uid: child } = await world.must(createGroup, { parent: group, group: { name: "child" } });
    await world.must(updateGroup, { group: { uid: child, description: "changed" } });
    await world.must(sendTestEvent, { uid });
    await until(async () => typesAt(path).includes("holt.test.v1"));
    assert.deepEqual(typesAt(path), ["api.events.subscription.created.v1", "api.iam.group.created.v1", "holt.test.v1"]);
    await update({ uid }, ["types"]);
    await world.must(updateGroup, { group: { uid: child, description: "changed again" } });
    await until(async () => typesAt(path).includes("api.iam.group.updated.v1"));
    assert.deepEqual((await world.must(getSubscription, { uid })).types, []);
  });

  it("events that wait are sent to a new sink at once, also after the former sink has ended the subscription", async () => {
    const { uid, group, path } = await subscribe();
    sink.behave((response) => response.writeHead(410).end(), path);
    await world.must(createGroup, { parent: group, group: { name: "child" } });
    await until(async () => (await world.must(getSubscriptionStatus, { uid })).state === SubscriptionStatus_State.PAUSED);
    const moved = await update({ uid, sink: `${sink.url}${path}-moved` });
    assert.deepEqual([moved.sink, moved.types], [`${sink.url}${path}-moved`, []]);
    await until(async () => typesAt(`${path}-moved`).length === 2);
    assert.deepEqual(typesAt(`${path}-moved`), ["api.iam.group.created.v1", "api.holt.subscription.updated.v1"]);
    assert.equal((await world.must(SubscriptionsService.method.getSubscription, { uid })).sink, moved.sink);
    assert.equal((await world.must(getSubscriptionStatus, { uid })).state, SubscriptionStatus_State.ACTIVE);
  });

  it("a former sink gets nothing after the update to a new one, although many events were about to be sent", async () => {
    const { uid, group, path } = await subscribe();
    const answers: (() => void)[] = [];
    sink.behave((response, received) => void answers.push(() => accept(response, received)), path);
    for (let i = 0; i < 5; i++) await world.must(createGroup, { parent: group, group: { name: `child-${i}` } });
    // The first of them is being sent, and the others were read together with it.
    await until(async () => answers.length > 0 && (await world.must(getSubscriptionStatus, { uid })).pendingCount === 5n);
    await update({ uid, sink: `${sink.url}${path}-new` });
    const before = sink.at(path).length;
    for (const answer of answers) answer();
    await until(() => typesAt(`${path}-new`).filter((type) => type === "api.iam.group.created.v1").length === 5);
    assert.equal(sink.at(path).length, before);
  });

  it("invalid settings are refused and leave the subscription as it was", async () => {
    const { uid } = await subscribe();
    const before = await world.must(getSubscription, { uid });
    for (const change of [
      { sink: "ftp://sink.example.com/" },
      { sink: "https://user:secret@sink.example.com/" },
      { types: ["*"] },
      { types: ["Not a type"] },
      { types: Array.from({ length: 101 }, (_, i) => `api.t${i}`) },
    ]) {
      const error = errorOf(await world.rest.call(updateSubscription, { subscription: { uid, ...change } }, world.owner.token));
      assert.equal(error.code, Code.INVALID_ARGUMENT);
      assert.ok(!error.message.includes("secret"));
    }
    const emptied = { subscription: { uid }, updateMask: { paths: ["sink"] } };
    assert.equal(errorOf(await world.grpc.call(updateSubscription, emptied, world.owner.token)).code, Code.INVALID_ARGUMENT);
    assert.deepEqual(await world.must(getSubscription, { uid }), before);
    const missing = errorOf(await world.rest.call(getSubscription, { uid: `${world.orgUid}/0123456789abcdef` }, world.owner.token));
    assert.equal(missing.code, Code.NOT_FOUND);
  });

  it("an update without effect emits no event", async () => {
    const { uid, path } = await subscribe();
    const seq = await lastSeq(world);
    await update({ uid, sink: sink.url + path, types: [] });
    assert.deepEqual(await eventsAfter(world, seq), []);
    await update({ uid, types: ["registry.push.v1"] });
    assert.deepEqual(
      (await eventsAfter(world, seq)).map(({ type, subject }) => [type, subject]),
      [["dev.holt.api.holt.subscription.updated.v1", uid]],
    );
  });

  it("deliveries are listed by event type, across pages", async () => {
    const { uid, group, path } = await subscribe();
    for (let i = 0; i < 5; i++) {
      const { uid: child } = await world.must(createGroup, { parent: group, group: { name: `child-${i}` } });
      await world.must(updateGroup, { group: { uid: child, description: "changed" } });
    }
    await until(async () => typesAt(path).filter((type) => type === "api.iam.group.updated.v1").length >= 5);
    const types = ["api.iam.group.updated.v1", "dev.holt.api.events.subscription.created.v1"];
    const found: string[] = [];
    let pageToken = "";
    do {
      const page = await world.must(listDeliveries, { uid, types, pageSize: 2, pageToken });
      found.push(...page.deliveries.map(({ eventType }) => eventType));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    assert.deepEqual(found, [...Array(5).fill("dev.holt.api.iam.group.updated.v1"), types[1]]);
    const below = await world.must(listDeliveries, { uid, types: ["api.iam.group.*"], pageSize: 200 });
    assert.deepEqual(
      new Set(below.deliveries.map(({ eventType }) => eventType.slice("dev.holt.api.iam.".length))),
      new Set(["group.created.v1", "group.updated.v1"]),
    );
    const refused = errorOf(await world.rest.call(listDeliveries, { uid, types: ["api.iam*"] }, world.owner.token));
    assert.equal(refused.code, Code.INVALID_ARGUMENT);
    for (const odd of [["no.such.type.v1"], ["no\0type"]])
      assert.deepEqual((await world.must(listDeliveries, { uid, types: odd })).deliveries, []);
  });
});

describeWithWorld(
  "the limit of subscriptions",
  (world) => {
    it("an organization has no more subscriptions than the limit, in all its groups together and under concurrency", async () => {
      const group = await world.group(world.orgUid);
      const subscription = { sink: "https://sink.example.com/" };
      const parents = [world.orgUid, group, world.orgUid, group, group, world.orgUid];
      const create = (parent: string) => world.rest.call(createSubscription, { parent, subscription }, world.owner.token);
      const results = await Promise.all(parents.map(create));
      const codes = results.map(codeOf).toSorted();
      assert.deepEqual(codes, [0, 0, 0, ...Array(3).fill(Code.RESOURCE_EXHAUSTED)]);
      const error = errorOf(await create(group));
      assert.match(error.message, /the organization has 3 subscriptions, which is the limit of this server/);
      const other = await world.group("", "another organization");
      assert.equal(codeOf(await create(other)), 0);
      const { subscriptions } = await world.must(SubscriptionsService.method.listSubscriptions, { uidp: { descendantsOf: world.orgUid } });
      await world.must(deleteSubscription, { uid: subscriptions[0]?.uid ?? "" });
      assert.equal(codeOf(await create(group)), 0);
    });
  },
  { env: { HOLT_MAX_SUBSCRIPTIONS: "3" } },
);
