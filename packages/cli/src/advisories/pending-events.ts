/** The events of advisories that wait for a review. */
import type { Invocation } from "../command/invocation.ts";
import { readAll } from "../operations/call-list.ts";
import type { Row } from "../output/output.ts";

export interface PendingEvent extends Row {
  readonly uid: string;
  readonly advisory: string;
  readonly artifact: string;
  /** The kind of the event, such as `fixed`. */
  readonly event: string;
  /** The payload as text. */
  readonly content: string;
  readonly author: string;
  readonly state: string;
  readonly createTime: string;
}

export interface ReviewFilter {
  /** uid of the group. */
  readonly group: string;
  readonly artifacts: readonly string[];
}

const OPEN_STATES = ["REVIEW_STATE_PENDING", "REVIEW_STATE_REQUEST_CHANGES"];
/** The payloads of the contract. Version 1 shows one more, which needs no review here. */
const PAYLOADS = [
  "detection",
  "fixed",
  "falsePositiveDetermination",
  "analysisNotPlanned",
  "fixNotPlanned",
  "pendingUpstreamFix",
  "truePositiveDetermination",
  "patched",
];

/** Oldest first. */
export async function listPendingEvents({ group, artifacts }: ReviewFilter, { session, signal }: Pick<Invocation, "session" | "signal">) {
  const query = { "uidp.descendants_of": group, event_review_states: OPEN_STATES, artifact_names: artifacts };
  const request = { method: "GET", path: "/vulnerabilities/v2/advisories", query };
  const { rows } = await readAll(session().rest, request, "advisories", signal);
  const found = rows.flatMap((advisory) => pendingOf(advisory));
  return found.sort((a, b) => a.createTime.localeCompare(b.createTime));
}

function pendingOf(advisory: Row): PendingEvent[] {
  const events = (advisory.events as Row[] | undefined) ?? [];
  return events
    .filter(({ reviewState }) => OPEN_STATES.includes(String(reviewState)))
    .map((event) => {
      const kind = PAYLOADS.find((name) => event[name] !== undefined) ?? "";
      return {
        uid: String(event.uid),
        advisory: [advisory.advisoryId, ...((advisory.aliases as string[] | undefined) ?? [])].join(", "),
        artifact: [advisory.artifactType, advisory.artifactName].filter(Boolean).join("/"),
        event: kind,
        content: contentOf(event[kind]),
        author: String(event.author ?? ""),
        state: String(event.reviewState).replace("REVIEW_STATE_", "").toLowerCase().replace("_", " "),
        createTime: String(event.createTime ?? ""),
      };
    });
}

/** `fixedVersion 3.5.0-r1, note …` */
function contentOf(payload: unknown): string {
  return Object.entries((payload ?? {}) as Row)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}
