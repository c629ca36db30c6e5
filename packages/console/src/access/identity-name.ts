/** The name of the identity of a role binding. */
import type { RoleBinding } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";

export function nameOfIdentity({ identity, identityUid }: RoleBinding): string {
  return identity?.name || identity?.email || identityUid;
}
