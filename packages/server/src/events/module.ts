/** Events: subscriptions, their deliveries to webhooks, and the feed. */
import type { Platform, Served } from "../api/domain.ts";
import type { Iam } from "../iam/iam.ts";
import { signJwt } from "../iam/tokens/sign-jwt.ts";
import { createOutboundClient } from "../outbound/client.ts";
import { deliveriesService } from "./api/deliveries.ts";
import { eventsService } from "./api/events.ts";
import { failingSubscriptions } from "./api/failing-subscriptions.ts";
import { subscriptionSettingsService } from "./api/subscription-settings.ts";
import { subscriptionsService } from "./api/subscriptions.ts";
import { startDelivery } from "./delivery/delivery.ts";
import { createDeliveryCounter, meterEvents } from "./delivery/metrics.ts";
import { createRedelivery } from "./delivery/redeliver.ts";
import { subscriptionsServiceV1 } from "./v1/subscriptions.ts";
import { createWebhook, MAX_ANSWER_BYTES } from "./webhook/webhook.ts";

export interface EventSettings {
  readonly outboundAllowCidrs: readonly string[];
  readonly webhookBackoffMs: readonly number[];
  readonly webhookTimeoutMs: number;
  readonly webhookGiveUpMs: number;
  readonly eventRetentionMs: number;
  /** Subscriptions of one organization. */
  readonly maxSubscriptions: number;
}

export function startEvents(platform: Platform, { keys }: Iam, settings: EventSettings): Served {
  const { store, clock, log, profile, baseUrl: issuer, appendListeners } = platform;
  const { outboundAllowCidrs, webhookTimeoutMs: timeoutMs, eventRetentionMs: retentionMs, maxSubscriptions } = settings;
  // A client of its own: deliveries wait for nothing but the dispatcher's slots.
  const client = platform.own(
    createOutboundClient({
      allowCidrs: outboundAllowCidrs,
      maxConnections: Number.MAX_SAFE_INTEGER,
      maxBodyBytes: MAX_ANSWER_BYTES,
      tracer: platform.tracer,
    }),
  );
  const webhook = createWebhook({ client, sign: (claims) => signJwt(keys, claims), clock, profile, issuer, timeoutMs });
  const policy = { backoffMs: settings.webhookBackoffMs, giveUpMs: settings.webhookGiveUpMs };
  const attempts = createDeliveryCounter(platform.meter);
  meterEvents(platform);
  const delivery = platform.own(
    startDelivery({ store, clock, log, webhook, policy, retentionMs, eventPrefix: profile.eventPrefix, attempts }),
  );
  appendListeners.add(delivery.wake);
  platform.workListeners.add(delivery.dispatch);
  const redelivery = createRedelivery(store);
  const listeners = { onDue: delivery.wake, onDelete: delivery.discard, onNewSink: delivery.discard };
  const collaborators = { ...platform, ...listeners, outboundAllowCidrs, maxSubscriptions, redelivery, webhook };
  const subscriptions = subscriptionsService(collaborators);
  return {
    services: [
      subscriptions,
      subscriptionsServiceV1(collaborators),
      subscriptionSettingsService(collaborators),
      deliveriesService(collaborators),
      eventsService(collaborators),
    ],
    attention: [failingSubscriptions],
  };
}
