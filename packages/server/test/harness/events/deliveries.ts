/** A sink, subscriptions to it, and their deliveries, for tests of the service of deliveries. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { DeliveriesService, type Delivery, Delivery_State, type SubscriptionStatus } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import type { DeliveryTable } from "../../../src/events/tables.ts";
import { until } from "../wait.ts";
import type { World } from "../world.ts";
import { untilPublished } from "./event-feed.ts";

const { listDeliveries, getSubscriptionStatus } = DeliveriesService.method;
const { DELIVERED } = Delivery_State;

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

export interface Subscribed {
  readonly uid: string;
  readonly group: string;
  readonly path: string;
}

export interface Deliveries extends AsyncDisposable {
  readonly sink: Sink;
  /** Creates a subscription in a new group, and waits for the delivery of its first event. */
  subscribe(): Promise<Subscribed>;
  /** At most 200 deliveries. */
  list(uid: string, state?: Delivery_State): Promise<Delivery[]>;
  status(uid: string): Promise<SubscriptionStatus>;
  /** Inserts finished deliveries of a paused subscription, oldest first. */
  seed(uid: string, states: readonly DeliveryTable["state"][], from?: number): Promise<void>;
}

export async function startDeliveries(world: World): Promise<Deliveries> {
  const sink = await startSink();
  let paths = 0;
  const list: Deliveries["list"] = async (uid, state) =>
    (await world.must(listDeliveries, { uid, pageSize: 200, ...(state !== undefined && { state }) })).deliveries;
  return {
    sink,
    list,
    status: (uid) => world.must(getSubscriptionStatus, { uid }),
    async subscribe() {
      const path = `/${++paths}`;
      const group = await world.group(world.orgUid);
      await untilPublished(world);
      const subscription = { sink: sink.url + path };
      const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: group, subscription });
      await until(async () => (await list(uid, DELIVERED)).length === 1);
      return { uid, group, path };
    },
    seed: (uid, states, from = 1_000_000) => insertDeliveries(world, uid, states, from),
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  };
}

async function insertDeliveries(world: World, uid: string, states: readonly DeliveryTable["state"][], from: number): Promise<void> {
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

export function eventId(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}
