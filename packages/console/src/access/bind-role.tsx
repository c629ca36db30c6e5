/** Binds a role to an identity at a group. */
import { useMutation } from "@connectrpc/connect-query";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { ObjectField } from "../form/object-field.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { RoleField } from "./role-field.tsx";

const fields: ReadonlySet<string> = new Set(["identity_uid", "role_uid", "parent"]);

export interface BindRoleButtonProps {
  readonly group: string;
  /** uid of the identity, where it is known. The form then asks for the group instead. */
  readonly identity?: string;
}

export function BindRoleButton(props: BindRoleButtonProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={RoleBindingsService.method.createRoleBinding} uid={props.group} size="xs" onClick={open}>
        Bind a role
      </ActionButton>
      {isOpen && <BindRoleDialog {...props} onClose={close} />}
    </>
  );
}

function BindRoleDialog({ group, identity, onClose }: BindRoleButtonProps & { readonly onClose: () => void }) {
  const create = useMutation(RoleBindingsService.method.createRoleBinding);
  const form = useForm({ identityUid: identity ?? "", roleUid: "", parent: group }, async ({ parent, ...roleBinding }) => {
    await create.mutateAsync({ parent, roleBinding });
    onClose();
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title="Bind a role" send="Bind" form={form} fields={fields} onClose={onClose}>
      {identity === undefined ? (
        <ObjectField
          kind="identity"
          label="Identity"
          description="A machine, or a person who is bound in the organization; anyone else by uid"
          required
          isFirst
          value={values.identityUid}
          error={violation("identity_uid")}
          onChange={(uid) => set("identityUid", uid)}
        />
      ) : (
        <GroupField value={values.parent} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
      )}
      <RoleField group={values.parent} value={values.roleUid} error={violation("role_uid")} onChange={(uid) => set("roleUid", uid)} />
    </FormDialog>
  );
}
