/** The delivery of events from the outbox to the sinks of subscriptions, as one thing that runs beside the server. */
import type { Store } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Webhook } from "../webhook/webhook.ts";
import { Dispatcher } from "./dispatcher.ts";
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
}

export interface Delivery extends AsyncDisposable {
  /** To be called when an event was appended, or something became due. Costs next to nothing; what it finds to do is done later. */
  wake(): void;
}

/** How often a server looks for what others did: other servers, and imports beside it. What it does itself it knows at once. */
const POLL_MS = 1000;
/** Under load events are published together: each commit makes the next one wait. */
const PUBLISH_SPACING_MS = 50;

export function startDelivery({ store, clock, log, webhook, policy, retentionMs }: DeliveryOptions): Delivery {
  const pollMs = store.dialect.notify === undefined ? Number.POSITIVE_INFINITY : POLL_MS;
  const dispatcher = new Dispatcher({ store, clock, log, webhook, policy, pollMs });
  let isClosed = false;
  const publisher = new Loop({
    ...{ name: "publishing events", log, spacingMs: PUBLISH_SPACING_MS },
    async step() {
      // Who comes next goes on with what is left, however much it is.
      while (!isClosed && (await publish(store, clock))) dispatcher.wake();
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
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await pruner[Symbol.asyncDispose]();
      await publisher[Symbol.asyncDispose]();
      await dispatcher[Symbol.asyncDispose]();
    },
  };
}
