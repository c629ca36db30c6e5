/** Settings of events and their deliveries. */
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, parseDuration, parseEach, parseInteger } from "./values.ts";

export const eventsSettings = {
  webhookBackoffMs: {
    env: "HOLT_WEBHOOK_BACKOFF",
    fallback: "5s,30s,2m,10m,1h,3h,6h",
    doc: "Pauses between the attempts to deliver an event. The last one repeats. Each pause varies by a fifth, to spread the load.",
    parse: parseEach(parseDuration(1, 24 * HOUR_MS)),
  },
  webhookTimeoutMs: {
    env: "HOLT_WEBHOOK_TIMEOUT",
    fallback: "30s",
    doc: "Time that a sink has for its response, from the look-up of its name on.",
    parse: parseDuration(1, HOUR_MS),
  },
  webhookGiveUpMs: {
    env: "HOLT_WEBHOOK_GIVE_UP",
    fallback: "72h",
    doc: "A subscription whose sink has accepted nothing for this long is paused. An event that a sink rejects for this long, while it accepts others, is given up. Both can be undone.",
    parse: parseDuration(1, 10 * 365 * 24 * HOUR_MS),
  },
  eventRetentionMs: {
    env: "HOLT_EVENT_RETENTION",
    fallback: "720h",
    doc: "Retention of events, for the feed, redeliveries and late deliveries. It should exceed HOLT_WEBHOOK_GIVE_UP: an expired event is no longer delivered.",
    parse: parseDuration(1000, 10 * 365 * 24 * HOUR_MS),
  },
  maxSubscriptions: {
    env: "HOLT_MAX_SUBSCRIPTIONS",
    fallback: "1000",
    doc: "Largest number of event subscriptions of an organization and its folders. Each event is stored once for each subscription that receives it.",
    parse: parseInteger(1, 100_000),
  },
} satisfies SettingGroup;
