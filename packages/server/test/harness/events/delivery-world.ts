/** Starts a server and a sink, with back-offs so short that tests can wait for retries. */

import { eventData } from "../../../src/outbox/event-context.ts";
import { type ServerOptions, startServer, type TestServer } from "../harness.ts";
import { until } from "../wait.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../webhook-receiver.ts";

export interface DeliveryWorld extends TestServer {
  readonly sink: WebhookReceiver;
  /** Sends a REST request as the owner. @throws if it is refused */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Creates a group. @returns its uid */
  group(parent: string, name?: string): Promise<string>;
  /** Creates a subscription to a path of the sink or to a URL. @returns its uid */
  subscribe(group: string, to: string): Promise<string>;
  /** Events in the order of their positions. */
  outbox(): Promise<OutboxRow[]>;
  deliveries(subscription: string): Promise<DeliveryRow[]>;
  /** Waits until the last delivery about the subject satisfies the condition. */
  delivery(subscription: string, subject: string, isSo: (delivery: DeliveryRow) => boolean): Promise<DeliveryRow>;
  queue(subscription: string): Promise<QueueRow | undefined>;
  /** Waits until every event is assigned and all deliveries are done, except later retries and those of paused or gone subscriptions. */
  settle(): Promise<void>;
}

export interface Answer {
  readonly uid: string;
  readonly [key: string]: unknown;
}

type Reader = TestServer["store"]["reader"];
const outboxOf = (reader: Reader) => reader.selectFrom("outbox").selectAll().select(eventData().as("data")).orderBy("position");
const deliveriesOf = (reader: Reader) =>
  reader
    .selectFrom("delivery")
    .innerJoin("outbox", "outbox.id", "delivery.event_id")
    .selectAll("delivery")
    .select("outbox.subject")
    .orderBy("delivery.position");
const queuesOf = (reader: Reader) => reader.selectFrom("subscription_queue").selectAll();
export type OutboxRow = Awaited<ReturnType<ReturnType<typeof outboxOf>["execute"]>>[number];
export type DeliveryRow = Awaited<ReturnType<ReturnType<typeof deliveriesOf>["execute"]>>[number];
export type QueueRow = Awaited<ReturnType<ReturnType<typeof queuesOf>["execute"]>>[number];

export async function startDeliveryWorld({ env = {}, ...options }: ServerOptions = {}): Promise<DeliveryWorld> {
  await using cleanUp = new AsyncDisposableStack();
  const sink = cleanUp.use(await startWebhookReceiver());
  const settings = {
    HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    HOLT_WEBHOOK_BACKOFF: "50ms,100ms,200ms",
    HOLT_WEBHOOK_TIMEOUT: "10s",
    HOLT_PULL_EVENTS: "blobs",
    ...env,
  };
  const server = cleanUp.use(await startServer({ ...options, env: settings }));
  const { reader } = server.store;
  const owned = cleanUp.move();

  async function isPublished(): Promise<boolean> {
    return (await reader.selectFrom("outbox").select("seq").where("position", "is", null).limit(1).executeTakeFirst()) === undefined;
  }

  async function isSettled(): Promise<boolean> {
    if (!(await isPublished())) return false;
    const due = await reader
      .selectFrom("delivery")
      .innerJoin("subscription_queue", "subscription_queue.subscription_uid", "delivery.subscription_uid")
      .select("event_id")
      .where("state", "=", "pending")
      .where("pause_time", "is", null)
      .where("next_attempt_time", "<", new Date(Date.now() + 60_000).toISOString())
      .limit(1)
      .executeTakeFirst();
    return due === undefined;
  }

  const world: DeliveryWorld = {
    ...server,
    sink,
    async call(method, path, body) {
      const { status, text } = await server.http(method, path, body === undefined ? undefined : JSON.stringify(body));
      if (status !== 200) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
      return JSON.parse(text || "{}") as Answer;
    },
    async group(parent, name = "folder") {
      return (await world.call("POST", `/iam/v2/groups/${parent}`, { name })).uid;
    },
    async subscribe(group, to) {
      // A subscription receives events that are published after its creation, and these can have happened just before it.
      await until(isPublished);
      const url = to.startsWith("/") ? sink.url + to : to;
      return (await world.call("POST", `/events/v2/subscriptions/${group}`, { sink: url })).uid;
    },
    outbox: () => outboxOf(reader).execute(),
    deliveries: (uid) => deliveriesOf(reader).where("subscription_uid", "=", uid).execute(),
    async delivery(uid, subject, isSo) {
      let last: DeliveryRow | undefined;
      await until(async () => {
        last = (await world.deliveries(uid)).findLast((delivery) => delivery.subject === subject);
        return last !== undefined && isSo(last);
      }).catch((error: Error) => {
        throw new Error(`the delivery stays ${JSON.stringify(last)}`, { cause: error });
      });
      return last as DeliveryRow;
    },
    queue: (uid) => queuesOf(reader).where("subscription_uid", "=", uid).executeTakeFirst(),
    settle: () => until(isSettled),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return world;
}
