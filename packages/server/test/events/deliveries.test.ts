import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { DeliveriesService, type Delivery, Delivery_State, SubscriptionStatus_State } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { DeliveryTable } from "../../src/events/tables.ts";
import { dateFromTimestamp, timestampFromDate } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { errorOf } from "../harness/clients.ts";
import { type Deliveries, startDeliveries } from "../harness/events/deliveries.ts";
import { fieldsOf } from "../harness/refusal.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { listDeliveries, getDelivery, getSubscriptionStatus, redeliver, resumeSubscription, sendTestEvent } = DeliveriesService.method;
const { PENDING, DELIVERED, FAILED } = Delivery_State;

describeWithWorld("deliveries", (world) => {
  let given: Deliveries;
  before(async () => {
    given = await startDeliveries(world);
  });
  after(() => given[Symbol.asyncDispose]());

  it("deliveries are listed newest first with their outcome", async () => {
    const { uid, group, path } = await given.subscribe();
    const made = [await world.group(group, "a"), await world.group(group, "b")];
    await until(async () => (await given.list(uid, DELIVERED)).length === 3);
    for (const client of [world.rest, world.grpc]) {
      const outcome = await client.call(listDeliveries, { uid }, world.owner.token);
      assert.ok(outcome.ok);
      const { deliveries, nextPageToken } = outcome.value;
      assert.equal(nextPageToken, "");
      assert.deepEqual(
        deliveries.map(({ subject, eventType }) => [subject, eventType]),
        [
          [made[1], "dev.holt.api.iam.group.created.v1"],
          [made[0], "dev.holt.api.iam.group.created.v1"],
          [uid, "dev.holt.api.events.subscription.created.v1"],
        ],
      );
      const sent = given.sink.received(path).map((headers) => headers["ce-id"]);
      assert.deepEqual(deliveries.map(({ eventId }) => eventId).toReversed(), sent);
      for (const delivery of deliveries) {
        const { state, attempts, statusCode, error, nextAttemptTime, latencyMs } = delivery;
        assert.deepEqual([state, attempts, statusCode, error, nextAttemptTime], [DELIVERED, 1, 200, "", undefined]);
        assert.ok(latencyMs >= 0 && latencyMs < 60_000);
        for (const time of [delivery.eventTime, delivery.lastAttemptTime]) assert.deepEqual(time, timestampFromDate(world.clock.now()));
      }
    }
  });

  it("a failed delivery shows the reason but never the answer of the sink", async () => {
    const { uid, group, path } = await given.subscribe();
    given.sink.statuses.set(path, 503);
    await world.group(group);
    await until(async () => (await given.list(uid, PENDING))[0]?.attempts === 1);
    const [delivery] = await given.list(uid);
    assert.deepEqual([delivery?.state, delivery?.statusCode], [PENDING, 503]);
    assert.match(delivery?.error ?? "", /503/);
    assert.ok(dateFromTimestamp(delivery?.nextAttemptTime as never) > world.clock.now());
    const { text } = await world.raw("GET", `/holt/v1/subscriptions/${uid}/deliveries`);
    assert.ok(!text.includes("a secret of the sink"));
    await until(async () => (await given.status(uid)).state === SubscriptionStatus_State.RETRYING);
    const { failingSince, nextAttemptTime, pendingCount, failedCount, pauseTime } = await given.status(uid);
    assert.deepEqual(failingSince, timestampFromDate(world.clock.now()));
    assert.deepEqual(nextAttemptTime, delivery?.nextAttemptTime);
    assert.deepEqual([pendingCount, failedCount, pauseTime], [1n, 0n, undefined]);
  });

  it("one delivery is shown with its request and the answer of the sink, without credentials", async () => {
    const { uid, group, path } = await given.subscribe();
    given.sink.statuses.set(path, 503);
    const made = await world.group(group);
    await until(async () => (await given.list(uid, PENDING))[0]?.attempts === 1);
    const [delivery] = await given.list(uid);
    const eventId = delivery?.eventId ?? "";
    const { request, response, ...shown } = await world.must(getDelivery, { uid, eventId });
    assert.deepEqual(shown.delivery, delivery);
    const sent = given.sink.received(path).find((headers) => headers["ce-id"] === eventId);
    const headers = Object.fromEntries((request?.headers ?? []).map(({ name, value }) => [name.toLowerCase(), value]));
    assert.equal(headers.authorization, "Bearer [removed]");
    assert.deepEqual({ ...sent, ...headers }, { ...sent, authorization: "Bearer [removed]" });
    assert.equal(request?.url, given.sink.url + path);
    assert.ok(request?.body.includes(made));
    assert.equal(request?.sizeBytes, BigInt(Buffer.byteLength(request?.body ?? "")));
    assert.deepEqual([response?.statusCode, response?.body, response?.isTruncated], [503, "a secret of the sink", false]);
    assert.ok(response?.headers.some(({ name }) => name === "date"));
    const unknown = await world.rest.call(getDelivery, { uid, eventId: eventId.replaceAll(/[0-9a-f]/g, "0") }, world.owner.token);
    assert.equal(errorOf(unknown).code, Code.NOT_FOUND);
  });

  it("a caller who may only list deliveries does not see the answer of the sink", async () => {
    const { uid } = await given.subscribe();
    const [delivery] = await given.list(uid);
    const reader = await world.robot(world.orgUid, [Capability.CAP_EVENTS_SUBSCRIPTION_LIST]);
    const refused = await world.rest.call(getDelivery, { uid, eventId: delivery?.eventId ?? "" }, reader.token);
    assert.equal(errorOf(refused).code, Code.PERMISSION_DENIED);
  });

  it("pages of deliveries contain each delivery once, whatever its state", async () => {
    const { uid } = await given.subscribe();
    const states = Array.from({ length: 30 }, (_, i) => (["pending", "delivered", "failed"] as const)[i % 3] as DeliveryTable["state"]);
    await given.seed(uid, states);
    for (const [state, expected] of [
      [undefined, 31],
      [PENDING, 10],
      [DELIVERED, 11],
      [FAILED, 10],
    ] as const) {
      for (const client of [world.rest, world.grpc]) {
        const found = await pages(client, { uid, ...(state !== undefined && { state }), pageSize: 4 });
        assert.equal(found.length, expected);
        assert.equal(new Set(found.map(({ eventId }) => eventId)).size, expected);
        for (const delivery of found) if (state !== undefined) assert.equal(delivery.state, state);
        const seeded = found.filter(({ eventId }) => eventId.startsWith("0000")).map(({ eventId }) => eventId);
        assert.deepEqual(seeded, seeded.toSorted().toReversed());
      }
    }
  });

  async function pages(client: World["rest"], request: { uid: string; state?: Delivery_State; pageSize: number }): Promise<Delivery[]> {
    const found: Delivery[] = [];
    for (let pageToken = ""; ; ) {
      const outcome = await client.call(listDeliveries, { ...request, pageToken }, world.owner.token);
      assert.ok(outcome.ok);
      found.push(...outcome.value.deliveries);
      pageToken = outcome.value.nextPageToken;
      if (pageToken === "") return found;
    }
  }

  it("deliveries can be filtered by state among many others", async () => {
    const { uid } = await given.subscribe();
    await given.seed(uid, ["pending", "failed", ...Array.from({ length: 22_000 }, () => "delivered" as const), "pending"]);
    for (const [state, count] of [
      [PENDING, 2],
      [FAILED, 1],
    ] as const) {
      const page = await world.must(listDeliveries, { uid, state });
      assert.deepEqual([page.deliveries.length, page.nextPageToken], [count, ""]);
    }
    const other = await given.subscribe();
    await given.seed(other.uid, ["delivered", "delivered", ...Array.from({ length: 22_000 }, () => "pending" as const)]);
    assert.equal((await pages(world.rest, { uid: other.uid, state: DELIVERED, pageSize: 2 })).length, 3);
    assert.equal((await pages(world.grpc, { uid: other.uid, state: PENDING, pageSize: 200 })).length, 22_000);
    const { pendingCount, failedCount } = await given.status(other.uid);
    assert.deepEqual([pendingCount, failedCount], [10_000n, 0n]);
  });

  it("a list of deliveries refuses a negative pageSize, an unknown state and the page token of another list", async () => {
    const { uid } = await given.subscribe();
    await given.seed(uid, ["failed", "failed", "failed"]);
    const reader = await world.robot(world.orgUid, [Capability.CAP_EVENTS_SUBSCRIPTION_LIST]);
    const { nextPageToken: pageToken } = await world.must(listDeliveries, { uid, pageSize: 1 });
    const refused = async (request: object, token = world.owner.token) => {
      const fields = [];
      for (const client of [world.rest, world.grpc]) {
        const { code, details } = errorOf(await client.call(listDeliveries, { uid, ...request }, token));
        assert.equal(code, Code.INVALID_ARGUMENT);
        fields.push(...fieldsOf(details));
      }
      return fields;
    };
    assert.deepEqual(await refused({ pageSize: -1 }), ["page_size", "page_size"]);
    for (const state of [7, -1]) assert.deepEqual(await refused({ state: state as Delivery_State }), ["state", "state"]);
    for (const request of [{ pageToken: `${pageToken}A` }, { pageToken, state: FAILED }, { pageToken, uid: (await given.subscribe()).uid }])
      assert.deepEqual(await refused(request), ["page_token", "page_token"]);
    assert.deepEqual(await refused({ pageToken }, reader.token), ["page_token", "page_token"]);
    assert.equal((await world.must(listDeliveries, { uid, pageToken })).deliveries.length, 3);
  });

  it("every call on deliveries of a missing subscription answers NOT_FOUND with the subscription", async () => {
    for (const uid of [newUid(world.orgUid), world.orgUid, newUid(""), "nonsense"]) {
      for (const method of [listDeliveries, getSubscriptionStatus, redeliver, resumeSubscription, sendTestEvent] as DescMethodUnary[]) {
        for (const client of [world.rest, world.grpc]) {
          const { code, message, details } = errorOf(await client.call(method, { uid } as never, world.owner.token));
          assert.deepEqual([code, message], [Code.NOT_FOUND, `Not found: Subscription "${uid}"`], `${method.name} over ${client.protocol}`);
          assert.ok(JSON.stringify(details).includes('"resourceType":"events.holt.dev/Subscription"'));
        }
      }
    }
  });

  it("listing deliveries needs subscriptions.list and redelivery needs subscriptions.update", async () => {
    const { uid, group } = await given.subscribe();
    const reader = await world.robot(group, [Capability.CAP_EVENTS_SUBSCRIPTION_LIST]);
    const writer = await world.robot(group, [Capability.CAP_EVENTS_SUBSCRIPTION_UPDATE]);
    for (const [method, mayRead] of [
      [listDeliveries, true],
      [getSubscriptionStatus, true],
      [redeliver, false],
      [resumeSubscription, false],
      [sendTestEvent, false],
    ] as [DescMethodUnary, boolean][]) {
      const [able, unable] = mayRead ? [reader, writer] : [writer, reader];
      const request = { uid, ...(method === redeliver && { failedSince: timestampFromDate(new Date(0)) }) } as never;
      assert.equal(errorOf(await world.rest.call(method, request, unable.token)).code, Code.PERMISSION_DENIED, method.name);
      assert.equal((await world.rest.call(method, request, able.token)).ok, true, method.name);
    }
  });
});
