/**
 * External group role mappings: a person whom an identity provider reports in a group has a role for the length of a session. Mappings are
 * immutable; signing in applies them.
 */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  BatchDeleteExternalGroupRoleMappingsResponseSchema,
  type ExternalGroupRoleMapping,
  ExternalGroupRoleMappingSchema,
  ExternalGroupRoleMappingsService,
} from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { JsonText, type WriteCall } from "../../api/call/call.ts";
import { type Handlers, implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { insert, prepareCreate, recordRemoved } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { alreadyExists, type FieldViolation, invalidArgument, notFound } from "../../lib/errors.ts";
import { isUid, newUid, parentOf, rootOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { assertGrantable, uidViolations } from "./bindable.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { required, tooLong } from "./identity-relationship.ts";

const MAX_BATCH = 1000;

export const externalGroupRoleMappings = defineResource(ExternalGroupRoleMappingSchema, {
  table: "external_group_role_mapping",
  columns: ({ externalGroupId, roleUid, scope }) => ({ external_group: externalGroupId, role_uid: roleUid, scope }),
  filters: { identityProviderUid: "parent" },
  orderBy: ["uid", "create_time"],
  nameTaken: (mapping) => duplicate(mapping.uid, mapping),
});

export interface ExternalGroupRoleMappingsCollaborators extends EscalationCollaborators {
  readonly pageTokens: PageTokens;
}

export function externalGroupRoleMappingsService(collaborators: ExternalGroupRoleMappingsCollaborators) {
  const handlers: Handlers<typeof ExternalGroupRoleMappingsService> = {
    ...standardMethods(ExternalGroupRoleMappingsService, externalGroupRoleMappings, collaborators),

    createExternalGroupRoleMapping: write(async ({ parent, externalGroupRoleMapping: given }, call) => {
      const mapping = prepareCreate(externalGroupRoleMappings, given, call.now);
      assertNone(violationsOf(mapping, parent));
      await lockProvider(parent, call.db);
      await assertGrantable({ field: "role_uid", roleUid: mapping.roleUid, groupUid: mapping.scope }, call, collaborators);
      await assertNew(mapping, parent, call);
      mapping.identityProviderUid = parent;
      return insert(externalGroupRoleMappings, newUid(parent), mapping, call);
    }),

    deleteExternalGroupRoleMapping: write(async ({ uid }, call) => {
      if ((await removeAll(parentOf(uid), [uid], call, collaborators)).length === 0) throw notFound("ExternalGroupRoleMapping", uid);
      return createMessage(EmptySchema);
    }),

    batchDeleteExternalGroupRoleMappings: write(async ({ parent, names }, call) => {
      await lockProvider(parent, call.db);
      if (names.length > MAX_BATCH) throw invalidArgument("names", `names must have at most ${MAX_BATCH} elements`);
      assertNone(names.flatMap((name, index) => nameViolations(name, index, parent)));
      const bodies = await removeAll(parent, names, call, collaborators);
      call.changed = bodies.length > 0;
      return new JsonText(
        BatchDeleteExternalGroupRoleMappingsResponseSchema,
        `{"parent":${JSON.stringify(parent)},"externalGroupRoleMappings":[${bodies.join(",")}]}`,
      );
    }),
  };
  return implement(ExternalGroupRoleMappingsService, handlers, "ExternalGroupRoleMapping", "IdentityProvider");
}

function violationsOf({ externalGroupId, roleUid, scope }: ExternalGroupRoleMapping, idpUid: string): FieldViolation[] {
  return [
    ...(externalGroupId === "" ? required("external_group_id", "external_group_id is required") : []),
    ...tooLong("external_group_id", externalGroupId),
    ...(/\p{Cc}/u.test(externalGroupId) ? required("external_group_id", "external_group_id must have no control characters") : []),
    ...uidViolations("role_uid", roleUid),
    ...(scope === rootOf(idpUid) ? [] : required("scope", "scope must be the uid of the identity provider's organization")),
  ];
}

function nameViolations(name: string, index: number, parent: string): FieldViolation[] {
  const isChild = isUid(name) && parentOf(name) === parent;
  return isChild ? [] : [{ field: `names[${index}]`, description: "must be the uid of a mapping of the parent" }];
}

/** Locks it against changes and removal: a caller that changes how it signs in checks its mappings. */
async function lockProvider(uid: string, db: WriteDb): Promise<void> {
  const row = await db.dialect.forShare(db.selectFrom("identity_provider").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (row === undefined) throw notFound("IdentityProvider", uid);
}

/** The unique index would refuse a duplicate too, but could not say which mapping exists already. */
async function assertNew(mapping: ExternalGroupRoleMapping, parent: string, { db }: WriteCall): Promise<void> {
  const existing = await db
    .selectFrom("external_group_role_mapping")
    .select("uid")
    .where("parent", "=", parent)
    .where("external_group", "=", mapping.externalGroupId)
    .where("role_uid", "=", mapping.roleUid)
    .where("scope", "=", mapping.scope)
    .executeTakeFirst();
  if (existing !== undefined) throw duplicate(existing.uid, mapping);
}

function duplicate(uid: string, { externalGroupId, roleUid }: ExternalGroupRoleMapping): Error {
  return alreadyExists("ExternalGroupRoleMapping", uid, `group ${JSON.stringify(externalGroupId)} is mapped to role ${roleUid}`);
}

/** Also takes the mapped roles from running sessions. @returns the bodies of the mappings that existed, in the order of `uids` */
async function removeAll(
  parent: string,
  uids: readonly string[],
  { db }: WriteCall,
  { grants }: { readonly grants: Grants },
): Promise<string[]> {
  const wanted = sql`select wanted.value from ${db.dialect.valuesOf(uids)} as wanted`;
  const bodies = await deleteMappings(db, sql<boolean>`parent = ${parent} and uid in (${wanted})`);
  if (bodies.size === 0) return [];
  await grants.recordChange(db, "*");
  return [...new Set(uids)].flatMap((uid) => bodies.get(uid) ?? []);
}

/** Notes the deleted mappings for the audit entry of the transaction. @returns their bodies by uid */
export async function deleteMappings(db: WriteDb, condition: RawBuilder<boolean>): Promise<ReadonlyMap<string, string>> {
  const deleted = await db.deleteFrom("external_group_role_mapping").where(condition).returning(["uid", "body"]).execute();
  await recordRemoved({ table: "external_group_role_mapping", schema: ExternalGroupRoleMappingSchema }, deleted, db);
  return new Map(deleted.map(({ uid, body }) => [uid, body]));
}
