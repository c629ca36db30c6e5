import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { after, before, it } from "node:test";
import { DeliveriesService, Delivery_State, SubscriptionStatus_State } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { createRedelivery } from "../../src/events/delivery/redeliver.ts";
import { timestampFromDate } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { parentOf } from "../../src/lib/uid.ts";
import { errorOf } from "../harness/clients.ts";
import { type Deliveries, eventId, startDeliveries } from "../harness/events/deliveries.ts";
import { untilPublished } from "../harness/events/event-feed.ts";
import { fieldsOf } from "../harness/refusal.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const { redeliver, resumeSubscription, sendTestEvent } = DeliveriesService.method;
const { PENDING, DELIVERED, FAILED } = Delivery_State;

describeWithWorld("redelivery", (world) => {
  let given: Deliveries;
  before(async () => {
    given = await startDeliveries(world);
  });
  after(() => given[Symbol.asyncDispose]());

  it("one event can be redelivered with its id, whatever its outcome was", async () => {
    const { uid, group, path } = await given.subscribe();
    const [first] = await given.list(uid);
    for (const [index, client] of [world.rest, world.grpc].entries()) {
      const outcome = await client.call(redeliver, { uid, eventId: first?.eventId ?? "" }, world.owner.token);
      assert.deepEqual(outcome.ok && outcome.value.count, 1n);
      await until(async () => given.sink.received(path).length === 2 + index);
      await until(async () => (await given.list(uid, DELIVERED)).length === 1);
    }
    assert.deepEqual(new Set(given.sink.received(path).map((headers) => headers["ce-id"])), new Set([first?.eventId]));
    assert.equal((await given.list(uid))[0]?.attempts, 1);

    given.sink.statuses.set(path, 500);
    await world.group(group);
    await until(async () => (await given.list(uid, PENDING))[0]?.attempts === 1);
    const [pending] = await given.list(uid, PENDING);
    given.sink.statuses.delete(path);
    await world.must(redeliver, { uid, eventId: pending?.eventId ?? "" });
    await until(async () => (await given.list(uid, PENDING)).length === 0);
  });

  it("all failed deliveries since a time can be redelivered", async () => {
    const { uid, path } = await given.subscribe();
    await given.seed(uid, ["failed", "delivered", "failed", "failed"]);
    const since = (index: number) => timestampFromDate(new Date(world.clock.now().getTime() + index));
    assert.equal((await world.must(redeliver, { uid, failedSince: since(10) })).count, 0n);
    assert.equal((await world.must(redeliver, { uid, failedSince: since(1) })).count, 2n);
    assert.equal((await world.must(redeliver, { uid, failedSince: since(1) })).count, 0n);
    assert.deepEqual(
      (await given.list(uid)).slice(0, 4).map(({ state, attempts }) => [state, attempts]),
      [
        [PENDING, 0],
        [PENDING, 0],
        [DELIVERED, 3],
        [FAILED, 3],
      ],
    );
    // They wait until the subscription is resumed.
    assert.equal(given.sink.received(path).length, 1);
    assert.equal((await given.status(uid)).state, SubscriptionStatus_State.PAUSED);
  });

  it("many failed deliveries are redelivered in batches, each once", async () => {
    const { uid } = await given.subscribe();
    await given.seed(
      uid,
      Array.from({ length: 35 }, (_, i) => (i % 5 === 0 ? "delivered" : "failed")),
    );
    const failed = { subscriptionUid: uid, since: "", now: world.clock.now() };
    const redelivery = createRedelivery(world.store, 10);
    const begun = await redelivery.begin(failed);
    assert.ok(begun.count === 20, `${begun.count}`);
    assert.equal(await world.store.transaction((db) => redelivery.finish(db, failed, begun)), 28);
    assert.deepEqual([(await given.list(uid, PENDING)).length, (await given.list(uid, FAILED)).length], [28, 0]);
  });

  it("a redelivery is refused without a selection or for an event of another subscription", async () => {
    const { uid } = await given.subscribe();
    const other = await given.subscribe();
    const [event] = await given.list(other.uid);
    const failedSince = timestampFromDate(new Date(0));
    for (const client of [world.rest, world.grpc]) {
      for (const request of [{}, { eventId: eventId(1), failedSince }]) {
        const { code, message, details } = errorOf(await client.call(redeliver, { uid, ...request }, world.owner.token));
        assert.equal(code, Code.INVALID_ARGUMENT);
        assert.equal(message, "Invalid argument: event_id: give exactly one of event_id and failed_since");
        assert.deepEqual(fieldsOf(details), ["event_id", "failed_since"]);
      }
      for (const id of [event?.eventId ?? "", eventId(1), "nonsense", "\0"]) {
        const { code, message } = errorOf(await client.call(redeliver, { uid, eventId: id }, world.owner.token));
        assert.deepEqual([code, message], [Code.NOT_FOUND, `Not found: Delivery "${id}"`]);
      }
    }
    const strange = { uid, failedSince: { seconds: 10n ** 15n, nanos: 0 } };
    assert.equal(errorOf(await world.grpc.call(redeliver, strange as never, world.owner.token)).code, Code.INVALID_ARGUMENT);
  });

  it("deliveries stop when the sink is gone and continue when the subscription is resumed", async () => {
    const { uid, group, path } = await given.subscribe();
    given.sink.statuses.set(path, 410);
    await world.group(group, "a");
    await until(async () => (await given.status(uid)).state === SubscriptionStatus_State.PAUSED);
    await world.group(group, "b");
    await untilPublished(world);
    const { pauseReason, pauseTime, pendingCount, nextAttemptTime } = await given.status(uid);
    assert.match(pauseReason, /410/);
    assert.deepEqual([pauseTime, pendingCount, nextAttemptTime], [timestampFromDate(world.clock.now()), 2n, undefined]);
    const refused = errorOf(await world.rest.call(sendTestEvent, { uid }, world.owner.token));
    assert.equal(refused.code, Code.FAILED_PRECONDITION);
    assert.match(refused.message, new RegExp(`paused \\(.*410.*resume it first.*${uid}:resume`));
    assert.equal(given.sink.received(path).length, 2);

    given.sink.statuses.delete(path);
    const resumed = await world.must(resumeSubscription, { uid });
    assert.deepEqual([resumed.state, resumed.pauseReason, resumed.pauseTime], [SubscriptionStatus_State.ACTIVE, "", undefined]);
    await until(async () => (await given.list(uid, DELIVERED)).length === 3);
    assert.deepEqual((await given.status(uid)).pendingCount, 0n);
  });

  it("deliveries that wait for a retry are due at once when the subscription is resumed", async () => {
    const { uid, group, path } = await given.subscribe();
    given.sink.statuses.set(path, 500);
    await world.group(group, "a");
    await until(async () => (await given.status(uid)).state === SubscriptionStatus_State.RETRYING);
    given.sink.statuses.delete(path);
    assert.deepEqual((await world.must(resumeSubscription, { uid })).failingSince, undefined);
    await until(async () => (await given.list(uid, DELIVERED)).length === 2);
  });

  it("listing, redelivering and resuming deliveries emit no event", async () => {
    const { uid } = await given.subscribe();
    const seqs = () => world.store.reader.selectFrom("outbox").select("seq").orderBy("seq").execute();
    const before = await seqs();
    await given.list(uid);
    await given.status(uid);
    await world.must(redeliver, { uid, failedSince: timestampFromDate(new Date(0)) });
    await world.must(resumeSubscription, { uid });
    assert.deepEqual(await seqs(), before);
  });

  it("a test event is delivered to its subscription alone and is not in the feed", async () => {
    const { uid, group, path } = await given.subscribe();
    const { uid: other } = await world.must(SubscriptionsService.method.createSubscription, {
      parent: group,
      subscription: { sink: `${given.sink.url}/other${path}` },
    });
    await until(async () => (await given.list(other, DELIVERED)).length === 1);
    const { eventId } = await world.must(sendTestEvent, { uid });
    await until(async () => given.sink.received(path).some((headers) => headers["ce-id"] === eventId));
    const headers = given.sink.received(path).find((each) => each["ce-id"] === eventId) as IncomingHttpHeaders;
    assert.equal(headers["ce-type"], "dev.holt.holt.test.v1");
    assert.deepEqual([headers["ce-subject"], headers["ce-group"], headers["ce-bodytype"]], [uid, parentOf(uid), undefined]);
    await until(async () => (await given.list(uid))[0]?.state === DELIVERED);
    assert.equal((await given.list(uid))[0]?.eventId, eventId);
    assert.ok(!given.sink.received(`/other${path}`).some((each) => each["ce-id"] === eventId));
    const { events } = await world.must(EventsService.method.listEvents, { parent: group });
    assert.ok(events.length > 0 && !events.some(({ id }) => id === eventId));
  });

  it("a test event has the same claims of its actor as other events", async () => {
    const { uid, group } = await given.subscribe();
    const { eventId } = await world.must(sendTestEvent, { uid });
    const outbox = world.store.reader.selectFrom("outbox").select("data");
    const { actor, body } = JSON.parse((await outbox.where("id", "=", eventId).executeTakeFirstOrThrow()).data);
    const { events } = await world.must(EventsService.method.listEvents, { parent: group });
    assert.deepEqual([actor, body], [events[0]?.data?.actor, { uid }]);
    assert.notDeepEqual(actor.act, {});
  });
});
