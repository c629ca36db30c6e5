/** The roles that people get for a session because of their groups at the identity provider. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import {
  type ExternalGroupRoleMapping,
  ExternalGroupRoleMappingSchema,
  ExternalGroupRoleMappingsService,
} from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { RoleField } from "../access/role-field.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ActionButton } from "../object/action-button.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { useDelete } from "../object/use-delete.ts";

const { createExternalGroupRoleMapping, deleteExternalGroupRoleMapping, listExternalGroupRoleMappings } =
  ExternalGroupRoleMappingsService.method;

const columns: readonly Column<ExternalGroupRoleMapping>[] = [
  { id: "group", title: "Group of the provider", text: ({ externalGroupId }) => externalGroupId },
  { id: "role", title: "Role", text: ({ roleUid }) => roleUid, cell: ({ roleUid }) => <RoleLink uid={roleUid} /> },
  timeColumn({ id: "created", title: "Since", time: ({ createTime }) => createTime, orderBy: "create_time" }),
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
  { id: "delete", title: "Removal", text: () => "", cell: (mapping) => <DeleteMappingButton mapping={mapping} /> },
];

export interface GroupMappingsProps {
  /** uid of the identity provider. */
  readonly provider: string;
  readonly organization: string;
}

export function GroupMappings({ provider, organization }: GroupMappingsProps) {
  return (
    <List
      title="Group mappings"
      method={listExternalGroupRoleMappings}
      request={{ identityProviderUid: provider }}
      itemsOf={({ externalGroupRoleMappings }) => externalGroupRoleMappings}
      schema={ExternalGroupRoleMappingSchema}
      columns={columns}
      keyOf={({ uid }) => uid}
      empty={<Text>No group of the provider gives a role. The configuration must name the claim with the groups.</Text>}
      actions={<CreateMappingButton provider={provider} organization={organization} />}
    />
  );
}

function RoleLink({ uid }: { readonly uid: string }) {
  const { data: { roles: [role] = [] } = {} } = useQuery(RolesService.method.listRoles, { uidp: { ids: [uid] } });
  return (
    <ScreenLink to="/role" uid={uid}>
      <bdi>{role?.name ?? uid}</bdi>
    </ScreenLink>
  );
}

function CreateMappingButton(props: GroupMappingsProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={createExternalGroupRoleMapping} uid={props.provider} size="xs" onClick={open}>
        Map a group
      </ActionButton>
      {isOpen && <CreateMappingDialog {...props} onClose={close} />}
    </>
  );
}

const fields: ReadonlySet<string> = new Set(["external_group_id", "role_uid"]);

function CreateMappingDialog({ provider, organization, onClose }: GroupMappingsProps & { readonly onClose: () => void }) {
  const create = useMutation(createExternalGroupRoleMapping);
  const form = useForm({ externalGroupId: "", roleUid: "" }, async (values) => {
    await create.mutateAsync({ parent: provider, externalGroupRoleMapping: { ...values, scope: organization } });
    onClose();
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title="Map a group" send="Map" form={form} fields={fields} onClose={onClose}>
      <TextInput
        label="Group of the provider"
        description="As the claim with the groups names it"
        required
        data-autofocus
        value={values.externalGroupId}
        error={violation("external_group_id")}
        onChange={({ currentTarget }) => set("externalGroupId", currentTarget.value)}
      />
      <RoleField group={organization} value={values.roleUid} error={violation("role_uid")} onChange={(uid) => set("roleUid", uid)} />
    </FormDialog>
  );
}

function DeleteMappingButton({ mapping: { uid, externalGroupId } }: { readonly mapping: ExternalGroupRoleMapping }) {
  const remove = useDelete(deleteExternalGroupRoleMapping);
  return (
    <ConfirmButton
      label="Remove"
      question={`Remove the role of ${externalGroupId}?`}
      method={deleteExternalGroupRoleMapping}
      uid={uid}
      isCompact
      run={() => remove({ uid }, async () => {})}
    >
      People of the group lose the role in their running sessions, too.
    </ConfirmButton>
  );
}
