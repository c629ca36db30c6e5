import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, it } from "node:test";
import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { DeliveriesService, type Delivery, Delivery_State, SubscriptionStatus_State } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { createRedelivery } from "../../src/events/delivery/redeliver.ts";
import type { DeliveryTable } from "../../src/events/tables.ts";
import { dateFromTimestamp, timestampFromDate } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid, parentOf } from "../../src/lib/uid.ts";
import { errorOf } from "../harness/clients.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { listDeliveries, getDelivery, getSubscriptionStatus, redeliver, resumeSubscription, sendTestEvent } = DeliveriesService.method;
const { PENDING, DELIVERED, FAILED } = Delivery_State;

interface Sink extends AsyncDisposable {
  readonly url: string;
  /** Statuses to answer by path; 200 by default. */
  readonly statuses: Map<string, number>;
  /** Received requests by path. */
  received(path: string): readonly IncomingHttpHeaders[];
}

async function startSink(): Promise<Sink> {
  const statuses = new Map<string, number>();
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? "", headers: request.headers });
    request.resume().on("end", () => response.writeHead(statuses.get(request.url ?? "") ?? 200).end("a secret of the sink"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    statuses,
    received: (path) => requests.filter((each) => each.path === path).map(({ headers }) => headers),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describeWithWorld("deliveries", (world) => {
  let sink: Sink;
  before(async () => {
    sink = await startSink();
  });
  after(() => sink[Symbol.asyncDispose]());

  let paths = 0;
  /** Creates a subscription in a new group, and waits for the delivery of its first event. */
  async function subscribe(): Promise<{ uid: string; group: string; path: string }> {
    const path = `/${++paths}`;
    const group = await world.group(world.orgUid);
    await published(world);
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, {
      parent: group,
      subscription: { sink: sink.url + path },
    });
    await until(async () => (await list(uid, DELIVERED)).length === 1);
    return { uid, group, path };
  }

  const list = async (uid: string, state?: Delivery_State) =>
    (await world.must(listDeliveries, { uid, pageSize: 200, ...(state !== undefined && { state }) })).deliveries;
  const status = (uid: string) => world.must(getSubscriptionStatus, { uid });

  /** Inserts finished deliveries of a paused subscription, oldest first. */
  async function seed(uid: string, states: readonly DeliveryTable["state"][], from = 1_000_000): Promise<void> {
    await world.store.transaction(async (db) => {
      await db
        .updateTable("subscription_queue")
        .set({ pause_time: world.clock.now().toISOString(), pause_reason: "a test" })
        .where("subscription_uid", "=", uid)
        .execute();
      const rows = states.map((state, index) => ({
        subscription_uid: uid,
        position: from + index,
        event_id: eventId(from + index),
        state,
        attempts: state === "pending" ? 0 : 3,
        create_time: new Date(world.clock.now().getTime() + index).toISOString(),
        next_attempt_time: state === "pending" ? world.clock.now().toISOString() : null,
        first_attempt_time: state === "pending" ? null : world.clock.now().toISOString(),
        ...{ last_attempt_time: null, status_code: 0, error: "", latency_ms: 0 },
      }));
      for (let start = 0; start < rows.length; start += 500)
        await db
          .insertInto("delivery")
          .values(rows.slice(start, start + 500))
          .execute();
    });
  }

  it("deliveries are listed newest first with their outcome", async () => {
    const { uid, group, path } = await subscribe();
    const made = [await world.group(group, "a"), await world.group(group, "b")];
    await until(async () => (await list(uid, DELIVERED)).length === 3);
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
      const sent = sink.received(path).map((headers) => headers["ce-id"]);
      assert.deepEqual(deliveries.map(({ eventId }) => eventId).toReversed(), sent);
      for (const delivery of deliveries) {
        const { state, attempts, statusCode, error, nextAttemptTime, latencyMs } = delivery;
        assert.deepEqual([state, attempts, statusCode, error, nextAttemptTime], [DELIVERED, 1, 200, "", undefined]);
        assert.ok(latencyMs >= 0 && latencyMs < 5000);
        for (const time of [delivery.eventTime, delivery.lastAttemptTime]) assert.deepEqual(time, timestampFromDate(world.clock.now()));
      }
    }
  });

  it("a failed delivery shows the reason but never the answer of the sink", async () => {
    const { uid, group, path } = await subscribe();
    sink.statuses.set(path, 503);
    await world.group(group);
    await until(async () => (await list(uid, PENDING))[0]?.attempts === 1);
    const [delivery] = await list(uid);
    assert.deepEqual([delivery?.state, delivery?.statusCode], [PENDING, 503]);
    assert.match(delivery?.error ?? "", /503/);
    assert.ok(dateFromTimestamp(delivery?.nextAttemptTime as never) > world.clock.now());
    const { text } = await world.raw("GET", `/holt/v1/subscriptions/${uid}/deliveries`);
    assert.ok(!text.includes("a secret of the sink"));
    await until(async () => (await status(uid)).state === SubscriptionStatus_State.RETRYING);
    const { failingSince, nextAttemptTime, pendingCount, failedCount, pauseTime } = await status(uid);
    assert.deepEqual(failingSince, timestampFromDate(world.clock.now()));
    assert.deepEqual(nextAttemptTime, delivery?.nextAttemptTime);
    assert.deepEqual([pendingCount, failedCount, pauseTime], [1n, 0n, undefined]);
  });

  it("one delivery is shown with its request and the answer of the sink, without credentials", async () => {
    const { uid, group, path } = await subscribe();
    sink.statuses.set(path, 503);
    const made = await world.group(group);
    await until(async () => (await list(uid, PENDING))[0]?.attempts === 1);
    const [delivery] = await list(uid);
    const eventId = delivery?.eventId ?? "";
    const { request, response, ...shown } = await world.must(getDelivery, { uid, eventId });
    assert.deepEqual(shown.delivery, delivery);
    const sent = sink.received(path).find((headers) => headers["ce-id"] === eventId);
    const headers = Object.fromEntries((request?.headers ?? []).map(({ name, value }) => [name.toLowerCase(), value]));
    assert.equal(headers.authorization, "Bearer [removed]");
    assert.deepEqual({ ...sent, ...headers }, { ...sent, authorization: "Bearer [removed]" });
    assert.equal(request?.url, sink.url + path);
    assert.ok(request?.body.includes(made));
    assert.equal(request?.sizeBytes, BigInt(Buffer.byteLength(request?.body ?? "")));
    assert.deepEqual([response?.statusCode, response?.body, response?.isTruncated], [503, "a secret of the sink", false]);
    assert.ok(response?.headers.some(({ name }) => name === "date"));
    const unknown = await world.rest.call(getDelivery, { uid, eventId: eventId.replaceAll(/[0-9a-f]/g, "0") }, world.owner.token);
    assert.equal(errorOf(unknown).code, Code.NOT_FOUND);
  });

  it("a caller who may only list deliveries does not see the answer of the sink", async () => {
    const { uid } = await subscribe();
    const [delivery] = await list(uid);
    const reader = await world.robot(world.orgUid, [Capability.CAP_EVENTS_SUBSCRIPTION_LIST]);
    const refused = await world.rest.call(getDelivery, { uid, eventId: delivery?.eventId ?? "" }, reader.token);
    assert.equal(errorOf(refused).code, Code.PERMISSION_DENIED);
  });

  it("pages of deliveries contain each delivery once, whatever its state", async () => {
    const { uid } = await subscribe();
    const states = Array.from({ length: 30 }, (_, i) => (["pending", "delivered", "failed"] as const)[i % 3] as DeliveryTable["state"]);
    await seed(uid, states);
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
    const { uid } = await subscribe();
    await seed(uid, ["pending", "failed", ...Array.from({ length: 22_000 }, () => "delivered" as const), "pending"]);
    for (const [state, count] of [
      [PENDING, 2],
      [FAILED, 1],
    ] as const) {
      const page = await world.must(listDeliveries, { uid, state });
      assert.deepEqual([page.deliveries.length, page.nextPageToken], [count, ""]);
    }
    const other = await subscribe();
    await seed(other.uid, ["delivered", "delivered", ...Array.from({ length: 22_000 }, () => "pending" as const)]);
    assert.equal((await pages(world.rest, { uid: other.uid, state: DELIVERED, pageSize: 2 })).length, 3);
    assert.equal((await pages(world.grpc, { uid: other.uid, state: PENDING, pageSize: 200 })).length, 22_000);
    const { pendingCount, failedCount } = await status(other.uid);
    assert.deepEqual([pendingCount, failedCount], [10_000n, 0n]);
  });

  it("a list of deliveries refuses a negative pageSize, an unknown state and the page token of another list", async () => {
    const { uid } = await subscribe();
    await seed(uid, ["failed", "failed", "failed"]);
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
    for (const request of [{ pageToken: `${pageToken}A` }, { pageToken, state: FAILED }, { pageToken, uid: (await subscribe()).uid }])
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
    const { uid, group } = await subscribe();
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

  it("one event can be redelivered with its id, whatever its outcome was", async () => {
    const { uid, group, path } = await subscribe();
    const [first] = await list(uid);
    for (const [index, client] of [world.rest, world.grpc].entries()) {
      const outcome = await client.call(redeliver, { uid, eventId: first?.eventId ?? "" }, world.owner.token);
      assert.deepEqual(outcome.ok && outcome.value.count, 1n);
      await until(async () => sink.received(path).length === 2 + index);
      await until(async () => (await list(uid, DELIVERED)).length === 1);
    }
    assert.deepEqual(new Set(sink.received(path).map((headers) => headers["ce-id"])), new Set([first?.eventId]));
    assert.equal((await list(uid))[0]?.attempts, 1);

    sink.statuses.set(path, 500);
    await world.group(group);
    await until(async () => (await list(uid, PENDING))[0]?.attempts === 1);
    const [pending] = await list(uid, PENDING);
    sink.statuses.delete(path);
    await world.must(redeliver, { uid, eventId: pending?.eventId ?? "" });
    await until(async () => (await list(uid, PENDING)).length === 0);
  });

  it("all failed deliveries since a time can be redelivered", async () => {
    const { uid, path } = await subscribe();
    await seed(uid, ["failed", "delivered", "failed", "failed"]);
    const since = (index: number) => timestampFromDate(new Date(world.clock.now().getTime() + index));
    assert.equal((await world.must(redeliver, { uid, failedSince: since(10) })).count, 0n);
    assert.equal((await world.must(redeliver, { uid, failedSince: since(1) })).count, 2n);
    assert.equal((await world.must(redeliver, { uid, failedSince: since(1) })).count, 0n);
    assert.deepEqual(
      (await list(uid)).slice(0, 4).map(({ state, attempts }) => [state, attempts]),
      [
        [PENDING, 0],
        [PENDING, 0],
        [DELIVERED, 3],
        [FAILED, 3],
      ],
    );
    // They wait until the subscription is resumed.
    assert.equal(sink.received(path).length, 1);
    assert.equal((await status(uid)).state, SubscriptionStatus_State.PAUSED);
  });

  it("many failed deliveries are redelivered in batches, each once", async () => {
    const { uid } = await subscribe();
    await seed(
      uid,
      Array.from({ length: 35 }, (_, i) => (i % 5 === 0 ? "delivered" : "failed")),
    );
    const failed = { subscriptionUid: uid, since: "", now: world.clock.now() };
    const redelivery = createRedelivery(world.store, 10);
    const begun = await redelivery.begin(failed);
    assert.ok(begun.count === 20, `${begun.count}`);
    assert.equal(await world.store.transaction((db) => redelivery.finish(db, failed, begun)), 28);
    assert.deepEqual([(await list(uid, PENDING)).length, (await list(uid, FAILED)).length], [28, 0]);
  });

  it("a redelivery is refused without a selection or for an event of another subscription", async () => {
    const { uid } = await subscribe();
    const other = await subscribe();
    const [event] = await list(other.uid);
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
    const { uid, group, path } = await subscribe();
    sink.statuses.set(path, 410);
    await world.group(group, "a");
    await until(async () => (await status(uid)).state === SubscriptionStatus_State.PAUSED);
    await world.group(group, "b");
    await published(world);
    const { pauseReason, pauseTime, pendingCount, nextAttemptTime } = await status(uid);
    assert.match(pauseReason, /410/);
    assert.deepEqual([pauseTime, pendingCount, nextAttemptTime], [timestampFromDate(world.clock.now()), 2n, undefined]);
    const refused = errorOf(await world.rest.call(sendTestEvent, { uid }, world.owner.token));
    assert.equal(refused.code, Code.FAILED_PRECONDITION);
    assert.match(refused.message, new RegExp(`paused \\(.*410.*resume it first.*${uid}:resume`));
    assert.equal(sink.received(path).length, 2);

    sink.statuses.delete(path);
    const resumed = await world.must(resumeSubscription, { uid });
    assert.deepEqual([resumed.state, resumed.pauseReason, resumed.pauseTime], [SubscriptionStatus_State.ACTIVE, "", undefined]);
    await until(async () => (await list(uid, DELIVERED)).length === 3);
    assert.deepEqual((await status(uid)).pendingCount, 0n);
  });

  it("deliveries that wait for a retry are due at once when the subscription is resumed", async () => {
    const { uid, group, path } = await subscribe();
    sink.statuses.set(path, 500);
    await world.group(group, "a");
    await until(async () => (await status(uid)).state === SubscriptionStatus_State.RETRYING);
    sink.statuses.delete(path);
    assert.deepEqual((await world.must(resumeSubscription, { uid })).failingSince, undefined);
    await until(async () => (await list(uid, DELIVERED)).length === 2);
  });

  it("listing, redelivering and resuming deliveries emit no event", async () => {
    const { uid } = await subscribe();
    const seqs = () => world.store.reader.selectFrom("outbox").select("seq").orderBy("seq").execute();
    const before = await seqs();
    await list(uid);
    await status(uid);
    await world.must(redeliver, { uid, failedSince: timestampFromDate(new Date(0)) });
    await world.must(resumeSubscription, { uid });
    assert.deepEqual(await seqs(), before);
  });

  it("a test event is delivered to its subscription alone and is not in the feed", async () => {
    const { uid, group, path } = await subscribe();
    const { uid: other } = await world.must(SubscriptionsService.method.createSubscription, {
      parent: group,
      subscription: { sink: `${sink.url}/other${path}` },
    });
    await until(async () => (await list(other, DELIVERED)).length === 1);
    const { eventId } = await world.must(sendTestEvent, { uid });
    await until(async () => sink.received(path).some((headers) => headers["ce-id"] === eventId));
    const headers = sink.received(path).find((each) => each["ce-id"] === eventId) as IncomingHttpHeaders;
    assert.equal(headers["ce-type"], "dev.holt.holt.test.v1");
    assert.deepEqual([headers["ce-subject"], headers["ce-group"], headers["ce-bodytype"]], [uid, parentOf(uid), undefined]);
    await until(async () => (await list(uid))[0]?.state === DELIVERED);
    assert.equal((await list(uid))[0]?.eventId, eventId);
    assert.ok(!sink.received(`/other${path}`).some((each) => each["ce-id"] === eventId));
    const { events } = await world.must(EventsService.method.listEvents, { parent: group });
    assert.ok(events.length > 0 && !events.some(({ id }) => id === eventId));
  });
});

function eventId(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}

async function published({ store }: World): Promise<void> {
  const query = store.reader.selectFrom("outbox").select("seq").where("position", "is", null).limit(1);
  await until(async () => (await query.execute()).length === 0);
}

function fieldsOf(details: readonly JsonObject[]): string[] {
  return details.flatMap(({ fieldViolations = [] }) => (fieldViolations as { field: string }[]).map(({ field }) => field));
}
