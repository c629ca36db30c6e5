/** holt events tail: the events of a group as lines, and those that follow. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { parseTime } from "../operations/parse-value.ts";
import { shownText } from "../output/cell.ts";
import type { Format } from "../output/output.ts";
import { paint } from "../terminal/color.ts";

interface Event {
  readonly id: string;
  readonly type: string;
  readonly subject?: string;
  readonly time: string;
  readonly data?: { readonly actor?: { readonly subject?: string } };
}

interface Answer {
  readonly events?: readonly Event[];
  readonly cursor: string;
  readonly hasMore?: boolean;
}

const POLL_MS = 1_000;
const PAGE_SIZE = "200";

const LINES: Partial<Record<Format, (event: Event) => string>> = {
  table: lineOf,
  wide: lineOf,
  json: (event) => JSON.stringify(event),
  name: ({ id }) => id,
};

export const verb: Verb = {
  path: "events tail",
  summary: "Print the events of a group and everything below it, oldest first, and follow them.",
  description:
    "A line has the time, the type, the uid of the resource and the uid of the identity that changed it. -o json prints one JSON " +
    "object per line; -o name prints ids. Ctrl-C ends --follow.",
  examples: ["holt events tail my-org -f", "holt events tail --since '1d ago' --type 'api.iam.*' -o json"],
  arguments: [{ name: "group", kind: "group", optional: true, help: "the group; by default that of the context" }],
  options: [
    { name: "follow", short: "f", help: "wait for further events" },
    { name: "since", value: "TIME", help: '"1h ago" by default; also RFC 3339, a date or now' },
    { name: "type", value: "TYPE", repeated: true, help: "only this type, such as api.iam.group.created.v1 or api.iam.*" },
  ],
  async run({ argument, option, list, isSet, groupUid, session, output, signal }) {
    const show = LINES[output.format];
    if (show === undefined) throw usageFailure(`events tail does not print ${output.format}`, "use table, wide, json or name");
    const since = parseTime({ name: "since" }, option("since") ?? "1h ago");
    const path = `/holt/v1/events/${await groupUid(argument("group") || undefined)}`;
    const filter = { since, types: list("type"), page_size: PAGE_SIZE };
    let cursor: string | undefined;
    for (;;) {
      const answer = (await session().rest.call({ method: "GET", path, query: { ...filter, cursor }, signal })) as Answer;
      process.stdout.write((answer.events ?? []).map((event) => `${show(event)}\n`).join(""));
      cursor = answer.cursor;
      if (answer.hasMore) continue;
      if (!isSet("follow")) return;
      await sleep(POLL_MS, undefined, { signal });
    }
  },
};

function lineOf({ time, type, subject, data }: Event): string {
  return [paint("dim", shownText(time)), paint("cyan", shownText(type)), shownText(subject), shownText(data?.actor?.subject)]
    .join("  ")
    .trimEnd();
}
