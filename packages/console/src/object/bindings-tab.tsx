/** The role bindings at a group and, marked as inherited, at the groups above. */
import { useQuery } from "@connectrpc/connect-query";
import { type RoleBinding, RoleBindingSchema, RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { Stack, Table, Text } from "@mantine/core";
import { BindRoleButton } from "../access/bind-role.tsx";
import { nameOfIdentity } from "../access/identity-name.ts";
import { unbindColumn } from "../access/unbind.tsx";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";

const columns: readonly Column<RoleBinding>[] = [
  { id: "identity", title: "Identity", text: nameOfIdentity },
  { id: "role", title: "Role", text: ({ role, roleUid }) => role?.name || roleUid },
  timeColumn({ id: "created", title: "Since", time: ({ createTime }) => createTime, orderBy: "create_time" }),
  { id: "uid", title: "uid of the identity", text: ({ identityUid }) => identityUid, isHidden: true },
  unbindColumn,
];

export function BindingsTab({ uid }: { readonly uid: string }) {
  const above = uid
    .split("/")
    .slice(0, -1)
    .map((_, index, parts) => parts.slice(0, index + 1).join("/"))
    .toReversed();
  return (
    <Stack>
      <List
        title="Role bindings"
        method={RoleBindingsService.method.listRoleBindings}
        request={{ group: uid }}
        itemsOf={({ roleBindings }) => roleBindings}
        schema={RoleBindingSchema}
        columns={columns}
        keyOf={(binding) => binding.uid}
        empty={<Text>No role is bound at this group itself.</Text>}
        actions={<BindRoleButton group={uid} />}
      />
      <ScreenLink to="/explain" search={{ uid }}>
        Why may somebody do something here, or why not?
      </ScreenLink>
      {above.map((group) => (
        <Inherited key={group} group={group} />
      ))}
    </Stack>
  );
}

/** As many as one page has; the screen of the group above lists all. */
function Inherited({ group }: { readonly group: string }) {
  const { data } = useQuery(RoleBindingsService.method.listRoleBindings, { group, pageSize: 50 });
  const bindings = data?.roleBindings ?? [];
  if (bindings.length === 0) return null;
  const name = bindings[0]?.group?.name ?? group;
  return (
    <Table withTableBorder captionSide="top" style={{ overflowWrap: "anywhere" }}>
      <Table.Caption>
        Inherited from <bdi>{name}</bdi>
        {data?.nextPageToken !== "" && `, the first ${bindings.length}`}
      </Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Identity</Table.Th>
          <Table.Th scope="col">Role</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {bindings.map((binding) => (
          <Table.Tr key={binding.uid}>
            <Table.Td>
              <bdi>{nameOfIdentity(binding)}</bdi>
            </Table.Td>
            <Table.Td>
              <bdi>{binding.role?.name || binding.roleUid}</bdi>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
