/**
 * Completes the identities of people with the email address from an organization's identity provider. Such an address is
 * shown to that organization and to the person alone, as unverified.
 */

import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { IdentityJson } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import type { Call } from "../../api/call/call.ts";
import { isInRoot, rootOf } from "../../lib/uid.ts";

const LIST = capabilitySet([Capability.CAP_IAM_IDENTITY_LIST]);

/** @returns one text for each body, in the same order */
export async function showIdentities(bodies: readonly string[], call: Call): Promise<string[]> {
  const identities = bodies.map((body) => JSON.parse(body) as IdentityJson & { uid: string });
  const people = identities.map(({ uid }) => uid).filter(isInRoot);
  const emails = people.length === 0 ? new Map<string, string>() : await emailsOf(people, call);
  return bodies.map((body, index) => {
    const identity = identities[index] as IdentityJson;
    const email = emails.get(identity.uid ?? "");
    return email === undefined || email === identity.email ? body : JSON.stringify({ ...identity, emailUnverified: email });
  });
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
