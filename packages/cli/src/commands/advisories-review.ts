/** holt advisories review: lists the events of advisories that wait for a decision, and decides them. */
import { listPendingEvents, type PendingEvent } from "../advisories/pending-events.ts";
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { oneLine } from "../output/cell.ts";
import { ask } from "../terminal/ask.ts";
import { paint } from "../terminal/color.ts";

const STATES: Readonly<Record<string, string>> = { approve: "APPROVED", reject: "REJECTED", "request-changes": "REQUEST_CHANGES" };
const ANSWERS: Readonly<Record<string, string>> = { a: "APPROVED", r: "REJECTED", c: "REQUEST_CHANGES" };
const COLUMNS = ["uid", "advisory", "artifact", "event", "content", "author", "state", "createTime"];

export const verb: Verb = {
  path: "advisories review",
  summary: "List the events of advisories that wait for a review, and approve or reject them.",
  description:
    "Without a decision, the waiting events of the group and of everything below it are listed. A decision needs events, or --all. " +
    "--interactive shows one event after the other and asks. Approvals and rejections are final.",
  examples: [
    "holt advisories review --group my-org",
    "holt advisories review --interactive --artifact openssl",
    "holt advisories review --approve EVENT-UID",
    "holt advisories review --reject --all --artifact openssl",
  ],
  arguments: [{ name: "event", optional: true, variadic: true, help: "uids of events" }],
  options: [
    { name: "group", value: "GROUP", kind: "group", help: "the group; by default that of the context" },
    { name: "artifact", value: "NAME", repeated: true, help: "only advisories about this package" },
    { name: "approve", help: "approve the events" },
    { name: "reject", help: "reject the events" },
    { name: "request-changes", help: "send the events back to their authors" },
    { name: "all", help: "decide about all waiting events" },
    { name: "interactive", short: "i", help: "ask about each event" },
  ],
  async run(invocation) {
    const { list, isSet } = invocation;
    const [decision, ...others] = Object.keys(STATES).filter(isSet);
    if (decision !== undefined && others.length > 0) throw usageFailure(`--${decision} and --${others[0]} exclude each other`);
    const events = list("event");
    if (events.length > 0 && decision === undefined)
      throw usageFailure("no decision is given", "add --approve, --reject or --request-changes");
    if (isSet("interactive") && decision !== undefined) throw usageFailure(`--interactive and --${decision} exclude each other`);
    if (decision === undefined) return isSet("interactive") ? askAboutEach(invocation) : show(await waiting(invocation), invocation);
    if (events.length === 0 && !isSet("all")) throw usageFailure(`--${decision} needs the uids of events, or --all`);
    await decideAll(events, decision, invocation);
  },
};

async function waiting(invocation: Invocation): Promise<PendingEvent[]> {
  const group = await invocation.groupUid(invocation.option("group"));
  return listPendingEvents({ group, artifacts: invocation.list("artifact") }, invocation);
}

async function decideAll(given: readonly string[], decision: string, invocation: Invocation): Promise<void> {
  const { output, confirm } = invocation;
  const status = STATES[decision] ?? "";
  let events = given;
  if (given.length === 0) {
    const found = await waiting(invocation);
    if (found.length === 0) return show([], invocation);
    await show(found, invocation);
    await confirm(`${decision.replace("-", " ")} ${found.length === 1 ? "this event" : `these ${found.length} events`}?`);
    events = found.map(({ uid }) => uid);
  }
  for (const uid of events) await decide(uid, status, invocation);
  output.say(`${events.length === 1 ? "1 event is" : `${events.length} events are`} ${wordsOf(status)}.`);
}

async function askAboutEach(invocation: Invocation): Promise<void> {
  const { output, signal } = invocation;
  if (!process.stdin.isTTY) throw usageFailure("nobody can answer: standard input is not a terminal", "decide with --approve or --reject");
  const found = await waiting(invocation);
  for (const [index, event] of found.entries()) {
    const { advisory, artifact, event: kind, content, author, createTime } = event;
    output.say(`\n${paint("bold", oneLine(`${advisory}  ${artifact}`))}  (${index + 1} of ${found.length})`);
    output.say(oneLine(`  ${kind}${content === "" ? "" : `: ${content}`}`));
    output.say(oneLine(`  by ${author} at ${createTime}`));
    const answer = (await ask("  [a]pprove, [r]eject, request [c]hanges, [s]kip, [q]uit? ", signal)).trim().toLowerCase().slice(0, 1);
    if (answer === "q") return;
    const status = ANSWERS[answer];
    if (status === undefined) continue;
    await decide(event.uid, status, invocation);
    output.say(`  ${wordsOf(status)}`);
  }
  output.say(found.length === 0 ? "No events wait for a review." : "\nThese were all events.");
}

async function decide(uid: string, status: string, { session, signal }: Invocation): Promise<void> {
  await session().rest.call({ method: "PUT", path: `/vulnerabilities/v1/advisory_events/${uid}`, body: { status }, signal });
}

function wordsOf(status: string): string {
  return status === "REQUEST_CHANGES" ? "sent back" : status.toLowerCase();
}

async function show(events: readonly PendingEvent[], { output }: Invocation): Promise<void> {
  await output.rows(events, { columns: COLUMNS, narrow: 6 });
}
