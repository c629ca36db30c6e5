/** Resolves a parent that is not a whole uid: the beginning or end of a uid, or a name, of exactly one group that the caller can see. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { sql } from "kysely";
import { capabilitySet } from "../../access/capability-set.ts";
import type { Call } from "../../api/call/call.ts";
import { inRanges } from "../../api/resource/conditions.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { MAX_UID_LENGTH, rangeAtOrBelow } from "../../lib/uid.ts";

const LIST = capabilitySet([Capability.CAP_IAM_GROUPS_LIST]);
const UID_PART = /^[0-9a-f/]{4,}$/;

/** @throws NOT_FOUND if no visible group matches, INVALID_ARGUMENT on parent if several do */
export async function resolveParent(text: string, call: Call): Promise<string> {
  const found = text.length > MAX_UID_LENGTH || text.includes("\0") ? [] : await candidates(text, call);
  const [only, second] = found;
  if (only === undefined) throw notFound("Group", text.slice(0, 200));
  if (second !== undefined) throw invalidArgument("parent", `"${text}" may mean several groups; give the whole uid`);
  return only;
}

/** Groups of organizations that the caller has joined come first: anybody can bind the caller in groups of the same name. */
async function candidates(text: string, call: Call): Promise<string[]> {
  const scopes = call.access.scopes(LIST);
  const joined = scopes.filter((uid) => call.access.hasJoined(uid));
  const found = await candidatesIn(joined, text, call);
  return found.length > 0 || joined.length === scopes.length ? found : candidatesIn(scopes, text, call);
}

/** One or two of the groups in the scopes that match: two are enough to be ambiguous. */
async function candidatesIn(scopes: readonly string[], text: string, { db }: Call): Promise<string[]> {
  const visible = inRanges(scopes.map(rangeAtOrBelow), "group", "uid", db.dialect);
  const conditions = [sql<boolean>`name = ${text}`];
  if (UID_PART.test(text)) {
    conditions.push(sql<boolean>`(uid >= ${text} and uid < ${`${text}g`})`);
    conditions.push(sql<boolean>`substr(uid, length(uid) - ${sql.lit(text.length - 1)}) = ${text}`);
  }
  const found = new Set<string>();
  for (const condition of conditions) {
    const rows = await db.selectFrom("group").select("uid").where(condition).where(visible).limit(2).execute();
    for (const { uid } of rows) found.add(uid);
  }
  return [...found];
}
