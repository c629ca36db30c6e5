/** Adds to stored bindings the current names of what their uids stand for: three queries for a whole page, on JSON without messages. */
import type { GroupJson } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { IdentityJson } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { RoleBindingIdentityJson, RoleBindingJson } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import type { RoleJson } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { parentOf } from "../../lib/uid.ts";
import { bodiesOf } from "./bodies.ts";

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

function named(uid: string, body: { name?: string; description?: string } | undefined) {
  return { uid, name: body?.name ?? "", description: body?.description ?? "" };
}

/** Subject and issuer, or their patterns, become plain fields. An identity that has not signed in yet has only its uid. */
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
