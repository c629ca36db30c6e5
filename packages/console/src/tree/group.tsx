/** One group: its properties, the groups in it, and who has rights at it. */
import { type Group, GroupSchema, GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { BindingsTab } from "../object/bindings-tab.tsx";
import { Details } from "../object/details.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { useObject } from "../object/use-object.ts";
import { CreateGroupButton } from "./create-group.tsx";
import { DeleteGroupButton } from "./delete-group.tsx";
import { EditGroupButton } from "./edit-group.tsx";
import { GroupPath } from "./group-path.tsx";

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const navigate = useNavigate();
  const { data: group, error, retry } = useObject(GroupsService.method.getGroup, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The group cannot be shown" onRetry={retry} />;
  if (group === undefined) return <Loading />;
  const parent = parentOf(uid);
  return (
    <ObjectFrame
      kind={parent === "" ? "Organization" : "Group"}
      name={group.name}
      uid={uid}
      method={GroupsService.method.getGroup}
      path={<GroupPath uid={uid} />}
      actions={
        <>
          <CreateGroupButton parent={uid} />
          <EditGroupButton group={group} />
          <DeleteGroupButton
            group={group}
            onDeleted={() => navigate({ to: parent === "" ? "/" : screenPath(organization, "/groups"), search: {} })}
          />
        </>
      }
      tabs={[
        { id: "details", title: "Details", content: <GroupDetails group={group} /> },
        { id: "groups", title: "Groups in it", content: <Children uid={uid} /> },
        { id: "access", title: "Access", content: <BindingsTab uid={uid} /> },
        { id: "events", title: "Events", content: <EventsTab group={uid} /> },
      ]}
    />
  );
}

function GroupDetails({ group }: { readonly group: Group }) {
  return (
    <Details
      rows={[
        ["Description", <bdi key="description">{group.description}</bdi>],
        ["Verified", group.verified ? "Yes" : "No"],
        ["Created", <Time key="created" value={group.createTime} />],
        ["Changed", <Time key="changed" value={group.updateTime} />],
      ]}
    />
  );
}

const columns: readonly Column<Group>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/group" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  { id: "description", title: "Description", text: ({ description }) => description },
  timeColumn({ id: "created", title: "Created", time: ({ createTime }) => createTime, orderBy: "create_time" }),
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

function Children({ uid }: { readonly uid: string }) {
  const organization = useOrganization();
  const navigate = useNavigate();
  return (
    <List
      title="Groups"
      method={GroupsService.method.listGroups}
      request={{ uidp: { childrenOf: uid } }}
      itemsOf={({ groups }) => groups}
      schema={GroupSchema}
      columns={columns}
      keyOf={(group) => group.uid}
      onOpen={(group) => void navigate({ to: screenPath(organization, "/group", group.uid), search: {} })}
      defaultOrder="name"
      empty={<Text>There are no groups in here. “New group” creates one.</Text>}
    />
  );
}
