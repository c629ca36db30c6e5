/** The built-in roles, or the roles that the groups of the organization have made. */
import { type Role, RoleSchema, RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { nameOfCapability } from "../session/rights.ts";
import { CreateRoleButton } from "./edit-role.tsx";

const columns: readonly Column<Role>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/role" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  { id: "description", title: "Description", text: ({ description }) => description },
  {
    id: "capabilities",
    title: "Capabilities",
    text: ({ capabilities }) => capabilities.map(nameOfCapability).join(" "),
    cell: ({ capabilities }) => capabilities.length.toLocaleString("en"),
  },
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [{ name = "", from = "" }] = useSearchState();
  const uidp = from === "" ? { inRoot: true } : { descendantsOf: organization };
  return (
    <>
      <ScreenTitle>Roles</ScreenTitle>
      <List
        title="Roles"
        method={RolesService.method.listRoles}
        request={{ uidp, name }}
        itemsOf={({ roles }) => roles}
        schema={RoleSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/role", uid), search: {} })}
        filters={[
          { kind: "text", id: "name", title: "Name", placeholder: "The whole name" },
          {
            kind: "choice",
            id: "from",
            title: "From",
            placeholder: "Built in",
            choices: [{ value: "groups", title: "Groups of the organization" }],
          },
        ]}
        defaultOrder="name"
        empty={<Text>There are no roles here. “New role” makes one of the capabilities that you choose.</Text>}
        actions={<CreateRoleButton parent={organization} label="New role" />}
      />
    </>
  );
}
