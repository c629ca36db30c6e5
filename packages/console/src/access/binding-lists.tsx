/** The role bindings of one identity, or of one role. */
import { type RoleBinding, RoleBindingSchema, RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { Text } from "@mantine/core";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { nameOfIdentity } from "../object/bindings-tab.tsx";
import { Time, timeText } from "../object/time.tsx";

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

const identityColumn: Column<RoleBinding> = { id: "identity", title: "Identity", text: nameOfIdentity };

const sinceColumn: Column<RoleBinding> = {
  id: "created",
  title: "Since",
  text: ({ createTime }) => timeText(createTime),
  cell: ({ createTime }) => <Time value={createTime} />,
  orderBy: "create_time",
};

/** Where an identity has which role. */
export function IdentityBindings({ uid }: { readonly uid: string }) {
  return (
    <Bindings request={{ identity: uid }} columns={[roleColumn, groupColumn, sinceColumn]} empty="No role is bound to this identity." />
  );
}

/** Who has a role, and where. */
export function RoleBindings({ uid, organization }: { readonly uid: string; readonly organization: string }) {
  return (
    <Bindings
      request={{ role: uid, uidp: { descendantsOf: organization } }}
      columns={[identityColumn, groupColumn, sinceColumn]}
      empty="This role is bound nowhere in the organization."
    />
  );
}

interface BindingsProps {
  readonly request: { readonly identity?: string; readonly role?: string; readonly uidp?: { readonly descendantsOf: string } };
  readonly columns: readonly Column<RoleBinding>[];
  readonly empty: string;
}

function Bindings({ request, columns, empty }: BindingsProps) {
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
    />
  );
}
