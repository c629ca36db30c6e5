/** Auth.Validate: the identity of the caller, and its capabilities by group. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { capabilityName } from "@holt/api";
import { type WhoAmI, type WhoAmI_CapabilitySchema, WhoAmISchema } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleSchema } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { sql } from "kysely";
import { capabilitiesIn, hexFromCapabilitySet } from "../../access/capability-set.ts";
import type { Principal } from "../../access/principal.ts";
import type { Call } from "../../api/call/call.ts";
import type { ReadDb } from "../../db/store.ts";
import { isBelowColumn } from "../../db/uid-range.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { isInRoot, rangeBelow, rootOf } from "../../lib/uid.ts";

export async function whoAmI(call: Call): Promise<WhoAmI> {
  const { principal } = call;
  if (principal === undefined) throw unauthenticated("sign in first");
  const { picture = "", given_name: givenName = "", family_name: familyName = "" } = principal.upstream;
  return create(WhoAmISchema, {
    issuer: principal.issuer,
    subject: principal.uid,
    audience: [...principal.audience],
    expiry: timestampFromDate(new Date(principal.expiry * 1000)),
    issuedAt: timestampFromDate(new Date(principal.issuedAt * 1000)),
    capabilities: await held(call, principal),
    email: principal.email ?? "",
    profile: { name: await nameOf(principal, call.db), picture, givenName, familyName },
  });
}

/** An account without a profile, such as that of the bootstrap owner, has the name of its identity. */
async function nameOf({ uid, upstream, email }: Principal, db: ReadDb): Promise<string> {
  if (upstream.name || email || !isInRoot(uid)) return upstream.name ?? "";
  const identity = await db.selectFrom("identity").select("name").where("uid", "=", uid).executeTakeFirst();
  return identity?.name ?? "";
}

/**
 * One entry for each group of organizations that the caller has joined, since anyone can bind a person. It names the role
 * that has exactly the capabilities held there, or else the capabilities.
 */
async function held({ access, db }: Call, principal: Principal): Promise<MessageInitShape<typeof WhoAmI_CapabilitySchema>[]> {
  const entries = [...access.entries()].filter(([uid]) => access.hasJoined(uid));
  const groups = await groupsOf(
    entries.map(([uid]) => uid),
    db,
  );
  const roles = await rolesOf(principal, db);
  return entries.map(([uid, capabilities]) => {
    const role = roles.get(hexFromCapabilitySet(capabilities));
    const named = capabilitiesIn(capabilities).map((capability) => capabilityName(capability));
    return {
      group: groups.get(uid) ?? { id: uid },
      ...(role === undefined ? { capabilities: named } : { role: { ...role, capabilities: named } }),
    };
  });
}

async function groupsOf(uids: readonly string[], db: ReadDb) {
  const rows = await db
    .selectFrom("group")
    .select(["uid", "body"])
    .where(sql<boolean>`uid in (select wanted.value from ${db.dialect.valuesOf(uids)} as wanted)`)
    .execute();
  return new Map(
    rows.map(({ uid, body }) => {
      const { name, description, verified, resourceLimits } = messageFromJson(GroupSchema, body);
      return [uid, { id: uid, name, description, verified, resourceLimits }];
    }),
  );
}

/** Roles of the person's bindings that count: those in joined organizations. */
function rolesOfMember(uid: string, db: ReadDb) {
  return db
    .selectFrom("membership")
    .innerJoin("role_binding", (on) =>
      on.onRef("role_binding.identity_uid", "=", "membership.identity_uid").on(isBelowColumn("role_binding.uid", "membership.org_uid")),
    )
    .select("role_binding.role_uid")
    .where("membership.identity_uid", "=", uid)
    .where("membership.state", "=", "joined");
}

/** Roles of the person's bindings in the organization of a token that is valid there only, also before the person joins. */
function rolesWithin(uid: string, organization: string, db: ReadDb) {
  const { lower, upper } = rangeBelow(organization);
  return db
    .selectFrom("role_binding")
    .select("role_binding.role_uid")
    .where("role_binding.identity_uid", "=", uid)
    .where("role_binding.uid", ">=", lower)
    .where("role_binding.uid", "<", upper)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("membership")
            .select("state")
            .where("identity_uid", "=", uid)
            .where("org_uid", "=", organization)
            .where("state", "=", "left"),
        ),
      ),
    );
}

function boundRoles({ uid, within }: Principal, db: ReadDb) {
  if (!isInRoot(uid)) return db.selectFrom("role_binding").select("role_uid").where("identity_uid", "=", uid);
  return within === undefined ? rolesOfMember(uid, db) : rolesWithin(uid, rootOf(within), db);
}

/** The roles bound to the identity and those of the mapped groups of its session, by their capabilities. */
async function rolesOf(principal: Principal, db: ReadDb) {
  const { session } = principal;
  const mappings = session === undefined ? [] : [...session.mappings, ...session.directoryMappings];
  const rows = await db
    .selectFrom("role")
    .select(["capabilities", "body"])
    .where(({ or, eb, selectFrom }) =>
      or([
        eb("uid", "in", boundRoles(principal, db)),
        eb(
          "uid",
          "in",
          selectFrom("external_group_role_mapping")
            .innerJoin(db.dialect.valuesOf(mappings).as("wanted"), "wanted.value", "external_group_role_mapping.uid")
            .select("role_uid"),
        ),
      ]),
    )
    .execute();
  return new Map(
    rows.map(({ capabilities, body }) => {
      const { uid, name, description } = messageFromJson(RoleSchema, body);
      return [capabilities, { id: uid, name, description }];
    }),
  );
}
