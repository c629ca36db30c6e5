/** Fills stored bindings with what their uids name now: a few queries for a whole page, at the level of JSON. */
import type { GroupJson } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { IdentityJson } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { RoleBindingIdentityJson, RoleBindingJson } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import type { RoleJson } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { parentOf } from "../../lib/uid.ts";

/** @returns the canonical JSON of each binding, in the order given */
export async function hydrateRoleBindings(bodies: readonly string[], db: ReadDb): Promise<string[]> {
  const bindings = bodies.map((body) => JSON.parse(body) as RoleBindingJson);
  const identities = await bodiesOf<IdentityJson>(
    "identity",
    bindings.map((binding) => binding.identityUid),
    db,
  );
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
    return JSON.stringify({
      uid,
      identity: identityOf(identityUid, identities.get(identityUid)),
      group: named(group, groups.get(group)),
      role: named(roleUid, roles.get(roleUid)),
      createTime,
      identityUid,
      roleUid,
    });
  });
}

async function bodiesOf<Json>(
  table: "identity" | "group" | "role",
  uids: readonly (string | undefined)[],
  db: ReadDb,
): Promise<Map<string, Json>> {
  const wanted = [...new Set(uids.filter((uid) => uid !== undefined))];
  const rows = await db
    .selectFrom(table)
    .select(["uid", "body"])
    .where(sql<boolean>`uid in (select wanted.value from ${db.dialect.valuesOf(wanted)} as wanted)`)
    .execute();
  return new Map(rows.map(({ uid, body }) => [uid, JSON.parse(body) as Json]));
}

function named(uid: string, body: { name?: string; description?: string } | undefined) {
  return { uid, name: body?.name ?? "", description: body?.description ?? "" };
}

/** Subject and issuer stand flat; a pattern is shown as its text. An identity that has not signed in yet has its uid only. */
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
