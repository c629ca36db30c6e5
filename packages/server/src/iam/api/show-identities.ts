/**
 * Completes the identities of people with the email address from an organization's identity provider. Such an address is
 * shown to that organization and to the person alone, as unverified.
 */

import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { IdentityJson } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { sql } from "kysely";
import { capabilitySet } from "../../access/capability-set.ts";
import type { Call } from "../../api/call/call.ts";
import { LISTED_UID, type StoredTest } from "../../api/resource/counted-page.ts";
import { uidOfBody } from "../../api/resource/fields-of-body.ts";
import { isInRoot, rootOf, type UidRange } from "../../lib/uid.ts";

const LIST = capabilitySet([Capability.CAP_IAM_IDENTITY_LIST]);

/** @returns one text for each body, in the same order */
export async function showIdentities(bodies: readonly string[], call: Call): Promise<readonly string[]> {
  const people = bodies.map(uidOfBody).filter(isInRoot);
  if (people.length === 0) return bodies;
  const emails = await emailsOf(people, call);
  return bodies.map((body) => {
    const email = emails.get(uidOfBody(body));
    if (email === undefined) return body;
    const identity = JSON.parse(body) as IdentityJson;
    return email === identity.email ? body : JSON.stringify({ ...identity, emailUnverified: email });
  });
}

/** People stand in root: no uid of a range is one of theirs if its first one is below a group. */
export function isWithoutPeople(range: UidRange, hasRootRows: boolean): true | StoredTest {
  if (range.lower.includes("/") && !hasRootRows) return true;
  return { range, build: () => sql<boolean>`coalesce(min(length(${LISTED_UID})) > 40, true)` };
}

/** If several organizations of the caller know an address, that of the first by uid. */
async function emailsOf(people: readonly string[], { db, access, principal }: Call): Promise<Map<string, string>> {
  const organizations = new Set(access.scopes(LIST).map(rootOf));
  const rows = await db
    .selectFrom("membership")
    .innerJoin(db.dialect.valuesOf(people).as("wanted"), "wanted.value", "membership.identity_uid")
    .select(["identity_uid", "org_uid", "email"])
    .where("state", "<>", "left")
    .where("email", "<>", "")
    .orderBy("org_uid", "desc")
    .execute();
  const known = rows.filter((row) => row.identity_uid === principal?.uid || organizations.has(row.org_uid));
  return new Map(known.map((row) => [row.identity_uid, row.email]));
}
