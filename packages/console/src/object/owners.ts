/** The people and machines that can grant a missing capability: the owners of the organization, as far as the person may see them. */
import { useQuery } from "@connectrpc/connect-query";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { nameOfIdentity } from "../access/identity-name.ts";

const MAX_NAMED = 3;

/** @param isNeeded whether to ask the server at all */
export function useOwners(uid: string, isNeeded: boolean): readonly string[] {
  const [group = ""] = uid.split("/");
  const roles = useQuery(RolesService.method.listRoles, { uidp: { inRoot: true }, name: "owner" }, { enabled: isNeeded });
  const role = roles.data?.roles[0]?.uid ?? "";
  const { data } = useQuery(
    RoleBindingsService.method.listRoleBindings,
    { group, role, pageSize: MAX_NAMED },
    { enabled: isNeeded && role !== "" && group !== "" },
  );
  return (data?.roleBindings ?? []).map(nameOfIdentity);
}
