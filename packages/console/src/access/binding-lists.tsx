/** The role bindings of one identity, or of one role. */
import { type RoleBinding, RoleBindingSchema, RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { parentOf } from "../object/parent-of.ts";
import { BindRoleButton } from "./bind-role.tsx";
import { nameOfIdentity } from "./identity-name.ts";
import { unbindColumn } from "./unbind.tsx";

const groupColumn: Column<RoleBinding> = {
  id: "group",
  title: "Group",
  text: ({ group }) => group?.name ?? "",
  cell: ({ group }) => (
    <ScreenLink to="/group" uid={group?.uid ?? ""} search={{ tab: "access" }}>
      <bdi>{group?.name}</bdi>
    </ScreenLink>
  ),
};

const roleColumn: Column<RoleBinding> = {
  id: "role",
  title: "Role",
  text: ({ role, roleUid }) => role?.name || roleUid,
  cell: ({ role, roleUid }) => (
    <ScreenLink to="/role" uid={roleUid}>
      <bdi>{role?.name || roleUid}</bdi>
    </ScreenLink>
  ),
};

const identityColumn: Column<RoleBinding> = {
  id: "identity",
  title: "Identity",
  text: nameOfIdentity,
  cell: (binding) => (
    <ScreenLink to="/identity" uid={binding.identityUid}>
      <bdi>{nameOfIdentity(binding)}</bdi>
    </ScreenLink>
  ),
};

const sinceColumn: Column<RoleBinding> = timeColumn({
  id: "created",
  title: "Since",
  time: ({ createTime }) => createTime,
  orderBy: "create_time",
});

/** Where an identity has which role. */
export function IdentityBindings({ uid }: { readonly uid: string }) {
  const [organization = ""] = uid.split("/");
  // People, whose uids have one segment, are bound at the organization of the address at first.
  const here = useOrganization();
  return (
    <Stack>
      <Bindings
        request={{ identity: uid }}
        columns={[roleColumn, groupColumn, sinceColumn, unbindColumn]}
        empty="No role is bound to this identity."
        actions={<BindRoleButton group={uid === organization ? here : parentOf(uid)} identity={uid} />}
      />
      <ScreenLink to="/explain" search={{ identity: uid }}>
        Why may it do something, or why not?
      </ScreenLink>
    </Stack>
  );
}

/** Lists the bindings of a role, with their identities and groups. */
export function RoleBindings({ uid, organization }: { readonly uid: string; readonly organization: string }) {
  return (
    <Bindings
      request={{ role: uid, uidp: { descendantsOf: organization } }}
      columns={[identityColumn, groupColumn, sinceColumn, unbindColumn]}
      empty="This role is bound nowhere in the organization."
    />
  );
}

interface BindingsProps {
  readonly request: { readonly identity?: string; readonly role?: string; readonly uidp?: { readonly descendantsOf: string } };
  readonly columns: readonly Column<RoleBinding>[];
  readonly empty: string;
  readonly actions?: ReactNode;
}

function Bindings({ request, columns, empty, actions }: BindingsProps) {
  return (
    <List
      title="Role bindings"
      method={RoleBindingsService.method.listRoleBindings}
      request={request}
      itemsOf={({ roleBindings }) => roleBindings}
      schema={RoleBindingSchema}
      columns={columns}
      keyOf={({ uid }) => uid}
      empty={<Text>{empty}</Text>}
      actions={actions}
    />
  );
}
