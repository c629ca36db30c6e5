/** holt deliveries show: one delivery of a subscription with its last request and response. */
import type { Verb } from "../command/verb.ts";
import { SUBSCRIPTION_HELP, subscriptionUid } from "../events/subscription-uid.ts";

interface Header {
  readonly name?: string;
  readonly value?: string;
}

interface Answer {
  readonly delivery?: Readonly<Record<string, unknown>>;
  readonly request?: Sent & { readonly url?: string };
  readonly response?: Sent & { readonly statusCode?: number; readonly isTruncated?: boolean };
}

export const verb: Verb = {
  path: "deliveries show",
  summary: "Show one delivery of a subscription with its last request and response.",
  description: "Credentials are replaced. The server keeps the first 4 KiB of the response.",
  examples: ["holt deliveries show https://ci.example.com/hook 8f14e45f-ceea-467f-9538-1e6d6a2b3c4d"],
  arguments: [
    { name: "subscription", help: SUBSCRIPTION_HELP },
    { name: "event", help: "id of the event, as `holt deliveries ls` lists it" },
  ],
  async run(invocation) {
    const { argument, session, output, signal } = invocation;
    const uid = await subscriptionUid(argument("subscription"), invocation);
    const path = `/holt/v1/subscriptions/${uid}/deliveries/${encodeURIComponent(argument("event"))}`;
    const answer = (await session().rest.call({ method: "GET", path, signal })) as Answer;
    await output.row({ ...answer }, { columns: columnsOf(answer), name: () => argument("event") });
  },
};

/** A line per header, marked as curl marks them: `>` for the request, `<` for the response. */
function columnsOf({ delivery = {}, request, response }: Answer): { title: string; value: () => string }[] {
  const lines: (readonly [title: string, value: string])[] = [
    ["EVENT", String(delivery.eventType ?? "")],
    [
      "STATE",
      String(delivery.state ?? "")
        .replace("STATE_", "")
        .toLowerCase(),
    ],
    ["ERROR", String(delivery.error ?? "")],
    ["> POST", request?.url ?? ""],
    ...linesOf(">", request),
    ["< STATUS", String(response?.statusCode ?? "none")],
    ...linesOf("<", response),
    ["", response?.isTruncated ? "The body of the response is longer." : ""],
  ];
  return lines.map(([title, value]) => ({ title, value: () => value }));
}

interface Sent {
  readonly headers?: readonly Header[];
  readonly body?: string;
}

function linesOf(mark: string, { headers = [], body = "" }: Sent = {}): (readonly [string, string])[] {
  return [...headers.map(({ name = "", value = "" }) => [`${mark} ${name}`, value] as const), [`${mark} BODY`, body]];
}
