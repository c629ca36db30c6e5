/** Removes a role binding. */
import { type RoleBinding, RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import type { Column } from "../list/columns.ts";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { useDelete } from "../object/use-delete.ts";
import { nameOfIdentity } from "./identity-name.ts";

export const unbindColumn: Column<RoleBinding> = {
  id: "unbind",
  title: "Removal",
  text: () => "",
  cell: (binding) => <UnbindButton binding={binding} />,
};

function UnbindButton({ binding }: { readonly binding: RoleBinding }) {
  const remove = useDelete(RoleBindingsService.method.deleteRoleBinding);
  const { uid, role, roleUid } = binding;
  return (
    <ConfirmButton
      label="Remove"
      question={`Remove ${role?.name || roleUid} of ${nameOfIdentity(binding)}?`}
      method={RoleBindingsService.method.deleteRoleBinding}
      uid={uid}
      isCompact
      run={() => remove({ uid }, async () => {})}
    >
      The identity loses the capabilities of the role at this group and below, unless another binding gives them.
    </ConfirmButton>
  );
}
