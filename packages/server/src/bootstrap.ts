/**
 * Ensures at every start that the built-in roles are those of this version. The first start creates an organization and
 * its owner.
 */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { type Role, RoleSchema } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { capabilitySet, hexFromCapabilitySet } from "./access/capability-set.ts";
import { FIRST_ORGANIZATION } from "./advisories/documents/publication.ts";
import { insert } from "./api/resource/write.ts";
import { decideState, readState } from "./db/server-state.ts";
import type { Store, WriteDb } from "./db/store.ts";
import { groups } from "./iam/api/groups.ts";
import { identities } from "./iam/api/identities.ts";
import { roleBindings } from "./iam/api/role-bindings.ts";
import { roles } from "./iam/api/roles.ts";
import { builtInRoles } from "./iam/grants/built-in-roles.ts";
import type { Grants } from "./iam/grants/grants.ts";
import { join } from "./iam/joining/membership.ts";
import { timestampFromDate } from "./lib/clock.ts";
import { isInRoot, newUid } from "./lib/uid.ts";

export interface Bootstrap {
  /** Uid of the identity that owns the first organization; staff everywhere. */
  readonly bootstrapOwner: string;
  /** 32 bytes that seal page tokens. */
  readonly pageTokenKey: Uint8Array;
  /** Whether this start has created the organization and its owner. */
  readonly isFirstStart: boolean;
}

export interface BootstrapOptions {
  readonly store: Store;
  readonly orgName: string;
  /** Issuer of the bootstrap owner: this server. */
  readonly issuer: string;
  readonly now: Date;
}

/** Safe if several servers start at the same time on one database: one transaction creates, the others find. */
export function bootstrap({ store, orgName, issuer, now }: BootstrapOptions, grants?: Grants): Promise<Bootstrap> {
  return store.transaction(async (db) => {
    const pageTokenKey = await decideState(db, "page_token_key", randomBytes(32).toString("hex"));
    const made = newUid("");
    const bootstrapOwner = await decideState(db, "bootstrap_owner", made);
    const changed = await syncBuiltInRoles(db, now);
    if (bootstrapOwner === made) await createOrganization(db, made, { orgName, issuer, now });
    else await recordFirstOrganization(db, bootstrapOwner);
    if (changed) await grants?.recordChange(db, "*");
    return { bootstrapOwner, pageTokenKey: Buffer.from(pageTokenKey, "hex"), isFirstStart: bootstrapOwner === made };
  });
}

type FirstStart = Pick<BootstrapOptions, "orgName" | "issuer" | "now">;

async function createOrganization(db: WriteDb, owner: string, { orgName, issuer, now }: FirstStart): Promise<void> {
  const organization = await decideState(db, FIRST_ORGANIZATION, newUid(""));
  await insert(groups, organization, create(GroupSchema, { name: orgName, description: "The organization that the first start made" }), {
    now,
    db,
  });
  const claimMatch = { iss: { case: "issuer", value: issuer }, sub: { case: "subject", value: owner } } as const;
  const identity = create(IdentitySchema, {
    name: "bootstrap-owner",
    description: "Signs in with access to the data of this installation: holtd token",
    relationship: { case: "claimMatch", value: claimMatch },
    lastSeenTime: timestampFromDate(now),
  });
  await insert(identities, owner, identity, { now, db });
  const roleUid = builtInRoles.find((role) => role.name === "owner")?.uid ?? "";
  await insert(roleBindings, newUid(organization), create(RoleBindingSchema, { identityUid: owner, roleUid }), { now, db });
  await join(db, { identityUid: owner, groupUid: organization, now });
}

/** For installations from before this record existed: the owner's oldest binding is in the first organization. */
async function recordFirstOrganization(db: WriteDb, owner: string): Promise<void> {
  if ((await readState(db, FIRST_ORGANIZATION)) !== undefined) return;
  const oldest = await db
    .selectFrom("role_binding")
    .select("parent")
    .where("identity_uid", "=", owner)
    .where("parent", "is not", null)
    .orderBy("create_time")
    .orderBy("uid")
    .execute();
  const organization = oldest.find(({ parent }) => parent !== null && isInRoot(parent))?.parent;
  if (organization) await decideState(db, FIRST_ORGANIZATION, organization);
}

/** Adds and updates roles; never removes one, since it may be bound. @returns whether the capabilities of any role changed */
async function syncBuiltInRoles(db: WriteDb, now: Date): Promise<boolean> {
  const stored = await db.selectFrom("role").select(["uid", "capabilities", "body"]).where("parent", "is", null).execute();
  const known = new Map(stored.map((row) => [row.uid, row]));
  let changed = false;
  for (const { uid, name, description, capabilities } of builtInRoles) {
    const role = create(RoleSchema, { name, description, capabilities: [...capabilities] });
    const row = known.get(uid);
    if (row === undefined) await insert(roles, uid, role, { now, db });
    else if (row.capabilities !== hexFromCapabilitySet(capabilitySet(capabilities))) {
      role.uid = uid;
      await updateBuiltIn(db, role, row.body, now);
      changed = true;
    }
  }
  return changed;
}

async function updateBuiltIn(db: WriteDb, role: Role, stored: string, now: Date): Promise<void> {
  role.createTime = timestampFromDate(new Date((JSON.parse(stored) as { createTime: string }).createTime));
  role.updateTime = timestampFromDate(now);
  await db
    .updateTable("role")
    .set({ ...roles.columns(role), name: role.name, update_time: now.toISOString(), body: roles.encode(role) } as never)
    .where("uid", "=", role.uid)
    .execute();
}
