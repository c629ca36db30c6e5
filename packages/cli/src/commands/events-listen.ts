/** holt events listen: hands the events of a group to a receiver on this machine, signed as the server delivers them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Rest } from "@holt/client/rest";
import type { Verb } from "../command/verb.ts";
import { forwardEvent, type SignedEvent } from "../events/forward.ts";
import { usageFailure } from "../failure.ts";
import { parseTime } from "../operations/parse-value.ts";
import { shownText } from "../output/cell.ts";
import { paint } from "../terminal/color.ts";

interface Answer {
  readonly events?: readonly SignedEvent[];
  readonly cursor: string;
  readonly hasMore?: boolean;
}

const POLL_MS = 1_000;

export const verb: Verb = {
  path: "events listen",
  summary: "Hand the events of a group to a webhook receiver on your machine, signed as the server delivers them.",
  description:
    "The requests have the headers, the body and the token of deliveries to a subscription of the group, so the receiver can verify " +
    "them. holt asks the server for them; the server need not reach your machine. Each event is sent once, in order: a receiver that " +
    "fails gets the next event, and --since repeats earlier ones. Ctrl-C ends it.",
  examples: [
    "holt events listen my-org --forward http://127.0.0.1:3000/hook",
    "holt events listen --forward http://127.0.0.1:3000 --type 'registry.*' --since '1h ago'",
  ],
  arguments: [{ name: "group", kind: "group", optional: true, help: "the group; by default that of the context" }],
  options: [
    { name: "forward", value: "URL", required: true, help: "URL of the receiver" },
    { name: "since", value: "TIME", help: 'now by default; also "1h ago", RFC 3339 or a date' },
    { name: "type", value: "TYPE", repeated: true, help: "only this type, such as api.iam.group.created.v1 or api.iam.*" },
  ],
  async run({ argument, option, list, groupUid, session, output, signal }) {
    const url = parseReceiver(option("forward") ?? "");
    if (output.format !== "table" && output.format !== "json")
      throw usageFailure(`events listen does not print ${output.format}`, "use table or json");
    const path = `/holt/v1/events/${await groupUid(argument("group") || undefined)}:signed`;
    const { rest } = session();
    const since = parseTime({ name: "since" }, option("since") ?? "now", await timeOfServer(rest, path, signal));
    let cursor: string | undefined;
    for (;;) {
      const answer = (await rest.call({ method: "GET", path, query: { since, types: list("type"), cursor }, signal })) as Answer;
      if (cursor === undefined) process.stderr.write(`Forwarding events to ${url}; Ctrl-C ends it.\n`);
      for (const event of answer.events ?? []) {
        const { result, durationMs, isAccepted } = await forwardEvent(url, event, signal);
        const { "Ce-Type": type = "", "Ce-Id": id = "", "Ce-Time": time = "", "Ce-Subject": subject = "" } = event.headers;
        const line = [paint("dim", time), paint("cyan", shownText(type)), shownText(subject), paint(isAccepted ? "green" : "red", result)];
        process.stdout.write(
          `${output.format === "json" ? JSON.stringify({ id, type, subject, time, result, durationMs }) : line.join("  ")}\n`,
        );
      }
      ({ cursor } = answer);
      if (!answer.hasMore) await sleep(POLL_MS, undefined, { signal });
    }
  },
};

/** Clocks differ: by the clock of this machine, the first events could be missed. */
async function timeOfServer(rest: Rest, path: string, signal: AbortSignal): Promise<Date> {
  const response = await rest.fetch({ method: "GET", path, query: { page_size: "1" }, signal });
  await response.body?.cancel();
  return new Date(response.headers.get("date") ?? Date.now());
}

function parseReceiver(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw usageFailure(`--forward: "${text}" is not an http or https URL`);
  return url.href;
}
