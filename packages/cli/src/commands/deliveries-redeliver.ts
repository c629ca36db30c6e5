/** holt deliveries redeliver: sends events of a subscription again. */
import type { Verb } from "../command/verb.ts";
import { SUBSCRIPTION_HELP, subscriptionUid } from "../events/subscription-uid.ts";
import { usageFailure } from "../failure.ts";
import { parseTime } from "../operations/parse-value.ts";

export const verb: Verb = {
  path: "deliveries redeliver",
  summary: "Send one event of a subscription again, or all that failed since a time.",
  description: "Events keep their ids. A paused subscription receives them once it is resumed.",
  examples: [
    "holt deliveries redeliver https://ci.example.com/hook --event 8f14e45f-ceea-467f-9538-1e6d6a2b3c4d",
    "holt deliveries redeliver https://ci.example.com/hook --failed-since '1d ago'",
  ],
  arguments: [{ name: "subscription", help: SUBSCRIPTION_HELP }],
  options: [
    { name: "event", value: "ID", help: "the event to send again, also if it was delivered" },
    { name: "failed-since", value: "TIME", help: "all events since this time that were given up" },
  ],
  async run(invocation) {
    const { argument, option, session, output, signal } = invocation;
    const event = option("event");
    const since = option("failed-since");
    if ((event === undefined) === (since === undefined)) throw usageFailure("give either --event or --failed-since");
    const body = event === undefined ? { failedSince: parseTime({ name: "failed-since" }, since ?? "") } : { eventId: event };
    const uid = await subscriptionUid(argument("subscription"), invocation);
    const path = `/holt/v1/subscriptions/${uid}/deliveries:redeliver`;
    const answer = (await session().rest.call({ method: "POST", path, body, signal })) as { count?: string };
    const count = Number(answer.count ?? 0);
    await output.row({ subscription: uid, count }, { columns: ["subscription", "count"], name: () => uid });
  },
};
