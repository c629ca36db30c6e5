/** Binds a role to an identity at a group. */
import { useMutation } from "@connectrpc/connect-query";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { RoleField } from "./role-field.tsx";

const fields: ReadonlySet<string> = new Set(["identity_uid", "role_uid"]);

export function BindRoleButton({ group }: { readonly group: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={RoleBindingsService.method.createRoleBinding} uid={group} size="xs" onClick={open}>
        Bind a role
      </ActionButton>
      {isOpen && <BindRoleDialog group={group} onClose={close} />}
    </>
  );
}

function BindRoleDialog({ group, onClose }: { readonly group: string; readonly onClose: () => void }) {
  const create = useMutation(RoleBindingsService.method.createRoleBinding);
  const form = useForm({ identityUid: "", roleUid: "" }, async (roleBinding) => {
    await create.mutateAsync({ parent: group, roleBinding });
    onClose();
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title="Bind a role" send="Bind" form={form} fields={fields} onClose={onClose}>
      <TextInput
        label="Identity"
        description="uid of a person or of a machine"
        required
        data-autofocus
        value={values.identityUid}
        error={violation("identity_uid")}
        onChange={({ currentTarget }) => set("identityUid", currentTarget.value.trim())}
      />
      <RoleField group={group} value={values.roleUid} error={violation("role_uid")} onChange={(uid) => set("roleUid", uid)} />
    </FormDialog>
  );
}
