/** One role: its capabilities by domain, and where it is bound. */
import { type Role, RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { Details } from "../object/details.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { useDelete } from "../object/use-delete.ts";
import { useObject } from "../object/use-object.ts";
import { RoleBindings } from "./binding-lists.tsx";
import { namedCapability } from "./capabilities.ts";
import { CreateRoleButton, EditRoleButton } from "./edit-role.tsx";

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const { data: role, error, retry } = useObject(RolesService.method.getRole, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The role cannot be shown" onRetry={retry} />;
  if (role === undefined) return <Loading />;
  return (
    <ObjectFrame
      kind={isBuiltIn(uid) ? "Built-in role" : "Role"}
      name={role.name}
      uid={uid}
      method={RolesService.method.getRole}
      actions={<Actions role={role} />}
      tabs={[
        { id: "capabilities", title: "Capabilities", content: <Capabilities role={role} /> },
        { id: "bindings", title: "Bindings", content: <RoleBindings uid={uid} organization={organization} /> },
        { id: "details", title: "Details", content: <RoleDetails role={role} /> },
        ...(isBuiltIn(uid) ? [] : [{ id: "events", title: "Events", content: <EventsTab group={parentOf(uid)} subject={uid} /> }]),
      ]}
    />
  );
}

function isBuiltIn(uid: string): boolean {
  return !uid.includes("/");
}

function Actions({ role }: { readonly role: Role }) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(RolesService.method.deleteRole);
  const { uid, name } = role;
  return (
    <>
      <CreateRoleButton parent={isBuiltIn(uid) ? organization : parentOf(uid)} label="Duplicate" like={role} />
      {isBuiltIn(uid) || <EditRoleButton role={role} />}
      {isBuiltIn(uid) || (
        <ConfirmButton
          label="Delete"
          question={`Delete the role ${name}?`}
          method={RolesService.method.deleteRole}
          uid={uid}
          run={() => remove({ uid }, () => navigate({ to: screenPath(organization, "/roles"), search: { from: "groups" } }))}
        >
          A role that is bound, or that a provider's group is mapped to, cannot be deleted. “Bindings” shows where it is bound.
        </ConfirmButton>
      )}
    </>
  );
}

/** One row per domain. */
function Capabilities({ role }: { readonly role: Role }) {
  const domains = Map.groupBy(role.capabilities.map(namedCapability), ({ domain }) => domain);
  if (domains.size === 0) return <Text>This role has no capabilities.</Text>;
  return <Details rows={[...domains].map(([domain, each]) => [domain, each.map(({ action }) => action).join(", ")])} />;
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
