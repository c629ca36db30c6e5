/** Adds to stored bindings the current names of what their uids stand for: three queries for a whole page, on JSON without messages. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { GroupJson } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { IdentityJson } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { RoleBindingIdentityJson, RoleBindingJson } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import type { RoleJson } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { isInRoot, parentOf, rootOf } from "../../lib/uid.ts";
import { identityName } from "../identities/user-identity.ts";
import { bodiesOf } from "./bodies.ts";

/** @returns the canonical JSON of each binding, in the order given */
export async function hydrateRoleBindings(bodies: readonly string[], db: ReadDb): Promise<string[]> {
  return (await hydrate(bodies, db)).map(({ binding }) => JSON.stringify(binding));
}

/** A binding as version 2 shows it, with more of what it refers to. */
export interface WholeRoleBinding extends JsonObject {
  readonly identity: Required<RoleBindingIdentityJson> & JsonObject;
  readonly wholeGroup: JsonObject;
  readonly wholeRole: JsonObject;
  /** Empty for people who have not joined the organization. */
  readonly emailUnverified: string;
}

/** @returns the JSON of a `WholeRoleBinding` for each binding, in the order given */
export async function hydrateWholeRoleBindings(bodies: readonly string[], db: ReadDb): Promise<string[]> {
  return (await hydrate(bodies, db)).map(({ binding, group, role, emailUnverified }) =>
    JSON.stringify({
      ...binding,
      wholeGroup: group ?? { uid: binding.group.uid },
      wholeRole: role ?? { uid: binding.roleUid },
      emailUnverified,
    }),
  );
}

async function hydrate(bodies: readonly string[], db: ReadDb) {
  const bindings = bodies.map((body) => JSON.parse(body) as RoleBindingJson);
  const identities = await bodiesOf<IdentityJson>(
    "identity",
    bindings.map((binding) => binding.identityUid),
    db,
  );
  const members = await membersOf(bindings, db);
  const groups = await bodiesOf<GroupJson>(
    "group",
    bindings.map((binding) => parentOf(binding.uid ?? "")),
    db,
  );
  const roles = await bodiesOf<RoleJson>(
    "role",
    bindings.map((binding) => binding.roleUid),
    db,
  );
  return bindings.map((binding) => {
    const { uid = "", identityUid = "", roleUid = "", createTime } = binding;
    const group = parentOf(uid);
    const identity = identities.get(identityUid);
    const member = members.get(memberKey(identityUid, group));
    const shown = {
      uid,
      identity: isInRoot(identityUid) ? personOf(identityUid, identity, member) : identityOf(identityUid, identity),
      group: named(group, groups.get(group)),
      role: named(roleUid, roles.get(roleUid)),
      createTime,
      identityUid,
      roleUid,
    };
    const emailUnverified = member?.state === "joined" ? (identity?.emailUnverified ?? "") : "";
    return { binding: shown, group: groups.get(group), role: roles.get(roleUid), emailUnverified };
  });
}

interface Member {
  readonly state: "joined" | "left" | "signed_in";
  /** From the organization's own identity provider; empty for none. */
  readonly email: string;
}

/** The people of the bindings that have joined the binding's organization, or have signed in through its provider. */
async function membersOf(bindings: readonly RoleBindingJson[], db: ReadDb): Promise<Map<string, Member>> {
  const people = [...new Set(bindings.map(({ identityUid = "" }) => identityUid).filter(isInRoot))];
  const organizations = [...new Set(bindings.map(({ uid = "" }) => rootOf(uid)))];
  if (people.length === 0) return new Map();
  const rows = await db
    .selectFrom("membership")
    .innerJoin(db.dialect.valuesOf(people).as("person"), "person.value", "membership.identity_uid")
    .innerJoin(db.dialect.valuesOf(organizations).as("organization"), "organization.value", "membership.org_uid")
    .select(["identity_uid", "org_uid", "state", "email"])
    .where("state", "<>", "left")
    .execute();
  return new Map(rows.map(({ identity_uid, org_uid, state, email }) => [memberKey(identity_uid, org_uid), { state, email }]));
}

function memberKey(identityUid: string, groupUid: string): string {
  return `${identityUid} ${rootOf(groupUid)}`;
}

function named(uid: string, body: { name?: string; description?: string } | undefined) {
  return { uid, name: body?.name ?? "", description: body?.description ?? "" };
}

/**
 * A user who has not joined the organization has only the uid, and what the organization's own provider has said in a
 * sign-in.
 */
function personOf(uid: string, identity: IdentityJson | undefined, member: Member | undefined): Required<RoleBindingIdentityJson> {
  if (member === undefined) return identityOf(uid, undefined);
  const known = identityOf(uid, identity);
  const email = member.email || (member.state === "joined" ? known.email : "");
  return { ...known, name: member.state === "joined" ? known.name : identityName(email || known.subject), email };
}

/** Subject and issuer, or their patterns, become plain fields. An identity that does not exist has only its uid. */
function identityOf(uid: string, identity: IdentityJson | undefined): Required<RoleBindingIdentityJson> {
  const { claimMatch, staticKeys } = (identity ?? {}) as Pick<IdentityJson, never> & {
    claimMatch?: { subject?: string; subjectPattern?: string; issuer?: string; issuerPattern?: string };
    staticKeys?: { subject?: string; issuer?: string };
  };
  return {
    ...named(uid, identity),
    subject: claimMatch?.subject ?? claimMatch?.subjectPattern ?? staticKeys?.subject ?? "",
    issuer: claimMatch?.issuer ?? claimMatch?.issuerPattern ?? staticKeys?.issuer ?? "",
    email: identity?.email ?? "",
  };
}
