/** A role to choose: the built-in ones, and those of the group and of the groups above it. */
import { useQuery } from "@connectrpc/connect-query";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Select } from "@mantine/core";
import { MAX_PAGE_SIZE } from "../list/list-method.ts";
import { parentOf } from "../object/parent-of.ts";

export interface RoleFieldProps {
  readonly group: string;
  /** "Role" by default. */
  readonly label?: string;
  readonly value: string;
  readonly error?: string;
  readonly onChange: (uid: string) => void;
}

export function RoleField({ group, label = "Role", value, error, onChange }: RoleFieldProps) {
  const [organization = ""] = group.split("/");
  const { data } = useQuery(RolesService.method.listRoles, { pageSize: MAX_PAGE_SIZE, uidp: { inRoot: true }, orderBy: "name" });
  const custom = useQuery(RolesService.method.listRoles, {
    pageSize: MAX_PAGE_SIZE,
    uidp: { descendantsOf: organization },
    orderBy: "name",
  });
  const roles = [...(custom.data?.roles ?? []), ...(data?.roles ?? [])].filter(({ uid }) => isUsableAt(uid, group));
  return (
    <Select
      label={label}
      required
      searchable
      data={roles.map(({ uid, name }) => ({ value: uid, label: name }))}
      value={value === "" ? null : value}
      error={error}
      onChange={(uid) => onChange(uid ?? "")}
    />
  );
}

function isUsableAt(role: string, group: string): boolean {
  const parent = parentOf(role);
  return parent === "" || group === parent || group.startsWith(`${parent}/`);
}
