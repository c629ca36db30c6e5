/** Delivers events from the outbox to the sinks of subscriptions, in the background: publishes, dispatches and prunes. */
import type { Store } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Counter } from "../../lib/meter.ts";
import type { Webhook } from "../webhook/webhook.ts";
import { startDispatcher } from "./dispatcher.ts";
import { startPruner } from "./prune.ts";
import { publish } from "./publish.ts";
import type { RetryPolicy } from "./retry.ts";

export interface DeliveryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly webhook: Webhook;
  readonly policy: RetryPolicy;
  /** How long events are kept. */
  readonly retentionMs: number;
  /** The prefix of every event type of this server. */
  readonly eventPrefix: string;
  /** Counts attempts by their outcome. */
  readonly attempts?: Counter | undefined;
}

export interface Delivery extends AsyncDisposable {
  /** Call it when an event was appended, or something became due. Costs next to nothing: the work is done later. */
  wake(): void;
  /** Call it when any server has published events. */
  dispatch(): void;
  /** Call it when a subscription is deleted or has another sink. Another server notices when it records the next outcomes. */
  discard(uid: string): void;
}

/** How often a server looks for changes by other servers and by commands. Its own changes wake it. */
const POLL_MS = 1000;
/** Under load, events of this time are published together: each commit delays the next one. */
const PUBLISH_SPACING_MS = 50;
/** Publishing a backlog takes long, and the other servers must not ask all the time whether it is over. */
const MAX_BUSY_MS = 200;

export function startDelivery({ store, clock, log, webhook, policy, retentionMs, eventPrefix, attempts }: DeliveryOptions): Delivery {
  const pollMs = store.dialect.notify === undefined ? Number.POSITIVE_INFINITY : POLL_MS;
  const dispatcher = startDispatcher({ store, clock, log, webhook, policy, pollMs, attempts });
  let isClosed = false;
  let busyMs = 0;
  const publisher = new Loop({
    name: "publishing events",
    log,
    spacingMs: PUBLISH_SPACING_MS,
    async step() {
      // When this server stops, the next one publishes the rest.
      let outcome = await publish(store, clock, eventPrefix);
      for (; outcome === "more" && !isClosed; outcome = await publish(store, clock, eventPrefix)) dispatcher.wake();
      // After the spacing, all events may have their positions.
      busyMs = outcome === "busy" ? Math.min(Math.max(2 * busyMs, PUBLISH_SPACING_MS), MAX_BUSY_MS) : 0;
      if (outcome === "busy") return busyMs;
      dispatcher.wake();
      return POLL_MS;
    },
  });
  const pruner = startPruner({ store, clock, log, retentionMs });
  return {
    wake() {
      publisher.wake();
      dispatcher.wake();
    },
    dispatch: () => dispatcher.wake(),
    discard: (uid) => dispatcher.discard(uid),
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await pruner[Symbol.asyncDispose]();
      await publisher[Symbol.asyncDispose]();
      await dispatcher[Symbol.asyncDispose]();
    },
  };
}
