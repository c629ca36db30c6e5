/** holt deliveries ls: what became of the events of a subscription. */
import type { Verb } from "../command/verb.ts";
import { SUBSCRIPTION_HELP, subscriptionUid } from "../events/subscription-uid.ts";
import { listOptions, showList } from "../operations/call-list.ts";
import type { Row } from "../output/output.ts";

const STATES = ["pending", "delivered", "failed"];
const columns = [
  "eventTime",
  {
    title: "STATE",
    value: ({ state }: Row) =>
      String(state ?? "")
        .replace("STATE_", "")
        .toLowerCase(),
  },
  "eventType",
  "eventId",
  "statusCode",
  "error",
  "attempts",
  "nextAttemptTime",
  "lastAttemptTime",
  "latencyMs",
  "subject",
];

export const verb: Verb = {
  path: "deliveries ls",
  summary: "List the deliveries of a subscription, newest first.",
  examples: ["holt deliveries ls https://ci.example.com/hook --state failed"],
  arguments: [{ name: "subscription", help: SUBSCRIPTION_HELP }],
  options: [
    { name: "state", value: "STATE", values: STATES, help: "only pending, delivered or failed deliveries" },
    { name: "type", value: "TYPE", repeated: true, help: "only events of this type, such as api.iam.group.created.v1 or api.iam.*" },
    ...listOptions,
  ],
  async run(invocation) {
    const { argument, option, list } = invocation;
    const path = `/holt/v1/subscriptions/${await subscriptionUid(argument("subscription"), invocation)}/deliveries`;
    const state = option("state");
    const query = { types: list("type"), ...(state && { state: `STATE_${state.toUpperCase()}` }) };
    const view = { columns, narrow: 8, name: ({ eventId }: Row) => String(eventId) };
    await showList({ request: { method: "GET", path, query }, items: "deliveries", view }, invocation);
  },
};
