/** One role: its capabilities by domain, and where it is bound. */
import { useQuery } from "@connectrpc/connect-query";
import { type Role, RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { useObjectUid, useOrganization } from "../frame/organization.ts";
import { Details } from "../object/details.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { Time } from "../object/time.tsx";
import { nameOfCapability } from "../session/rights.ts";
import { RoleBindings } from "./binding-lists.tsx";

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const { data: role, error, refetch } = useQuery(RolesService.method.getRole, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The role cannot be shown" onRetry={() => void refetch()} />;
  if (role === undefined) return <Loading />;
  return (
    <ObjectFrame
      kind={uid.includes("/") ? "Role" : "Built-in role"}
      name={role.name}
      uid={uid}
      method={RolesService.method.getRole}
      tabs={[
        { id: "capabilities", title: "Capabilities", content: <Capabilities role={role} /> },
        { id: "bindings", title: "Bindings", content: <RoleBindings uid={uid} organization={organization} /> },
        { id: "details", title: "Details", content: <RoleDetails role={role} /> },
      ]}
    />
  );
}

/** One row per domain: the part of the names before the last point. */
function Capabilities({ role }: { readonly role: Role }) {
  const names = role.capabilities.map(nameOfCapability);
  const domains = Map.groupBy(names, (name) => name.split(".").slice(0, -1).join(".") || name);
  if (names.length === 0) return <Text>This role has no capabilities.</Text>;
  return <Details rows={[...domains].map(([domain, each]) => [domain, each.map((name) => name.split(".").at(-1)).join(", ")])} />;
}

function RoleDetails({ role }: { readonly role: Role }) {
  return (
    <Details
      rows={[
        ["Description", <bdi key="description">{role.description}</bdi>],
        ["Created", <Time key="created" value={role.createTime} />],
        ["Changed", <Time key="changed" value={role.updateTime} />],
      ]}
    />
  );
}
