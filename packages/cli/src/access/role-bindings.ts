/** Finds the bindings of an identity to a role in a group. */
import type { Rest } from "@holt/client/rest";
import type { Row } from "../output/output.ts";

export interface RoleBinding extends Row {
  readonly uid: string;
  readonly identityUid: string;
  readonly roleUid: string;
}

/** Uids of the three parts of a binding. */
export interface BindingParts {
  readonly group: string;
  readonly identity: string;
  readonly role: string;
}

/** Checks the answer itself: a server takes an empty filter for no filter. */
export async function findBindings(rest: Rest, { group, identity, role }: BindingParts, signal: AbortSignal): Promise<RoleBinding[]> {
  const query = { "uidp.children_of": group, identity, role };
  const { roleBindings = [] } = (await rest.call({ method: "GET", path: "/iam/v2/roleBindings", query, signal })) as {
    roleBindings?: RoleBinding[];
  };
  return roleBindings.filter(({ identityUid, roleUid }) => identityUid === identity && roleUid === role);
}
