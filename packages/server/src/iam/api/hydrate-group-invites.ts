/** Fills stored invites with the role that their uid names now, at the level of JSON. */
import type { GroupInviteJson } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import type { RoleJson } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { bodiesOf } from "./bodies.ts";

/**
 * The canonical JSON of each invite, in the order given. A role that was deleted is left out.
 * @param code of a single invite that was just created
 */
export async function hydrateGroupInvites(bodies: readonly string[], db: ReadDb, code = ""): Promise<string[]> {
  const invites = bodies.map((body) => JSON.parse(body) as GroupInviteJson);
  const roles = await bodiesOf<RoleJson>(
    "role",
    invites.map((invite) => invite.roleUid),
    db,
  );
  return invites.map(({ uid, roleUid = "", ...rest }) => {
    const role = roles.get(roleUid);
    return JSON.stringify({ uid, roleUid, ...(role && { role: shown(role) }), ...rest, code });
  });
}

function shown({ uid = "", name = "", description = "", capabilities = [] }: RoleJson): GroupInviteJson["role"] {
  return { uid, name, description, capabilities };
}
