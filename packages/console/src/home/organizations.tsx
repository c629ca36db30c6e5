/** `/console/`: leads to the person's only organization, or lets the person choose one. */
import { useQuery } from "@connectrpc/connect-query";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { type Group, GroupSchema, GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Anchor, Container, Stack, Text, Title } from "@mantine/core";
import { Link, Navigate, useNavigate } from "@tanstack/react-router";
import { useDocumentTitle } from "../frame/document-title.tsx";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { SessionEndedDialog } from "../session/session-ended-dialog.tsx";
import { PartialOrganizations, usePartialOrganizations } from "./partial-organizations.tsx";

const columns: readonly Column<Group>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <Anchor renderRoot={(props) => <Link {...props} to={`/${uid}`} search={{}} />}>
        <bdi>{name}</bdi>
      </Anchor>
    ),
    orderBy: "name",
  },
  { id: "description", title: "Description", text: ({ description }) => description },
  timeColumn({ id: "created", title: "Created", time: ({ createTime }) => createTime, orderBy: "create_time" }),
];

export function Organizations() {
  const [search] = useSearchState();
  const navigate = useNavigate();
  useDocumentTitle("Your organizations");
  const inRoot = { inRoot: true };
  const { data, error, refetch } = useQuery(GroupsService.method.listGroups, { uidp: inRoot, pageSize: 2 });
  const rights = useQuery(Auth.method.validate, {});
  const partial = usePartialOrganizations();
  const retry = () => void Promise.all([refetch(), rights.refetch()]);
  const problem = error ?? rights.error;
  if (problem !== null)
    return (
      <Container size="md" py="xl" component="main">
        <ErrorAlert error={problem} title="Your organizations cannot be shown" onRetry={retry} />
      </Container>
    );
  if (data === undefined || partial === undefined) return <Loading />;
  const [first, ...others] = [...data.groups.map(({ uid }) => uid), ...partial.keys()];
  if (first !== undefined && others.length === 0 && search.all === undefined) return <Navigate to={`/${first}`} search={{}} replace />;
  const name = search.name ?? "";
  return (
    <Container size="md" py="xl" component="main">
      <Stack>
        <Title order={1}>Your organizations</Title>
        <List
          title="Organizations"
          method={GroupsService.method.listGroups}
          request={{ uidp: inRoot, name }}
          itemsOf={({ groups }) => groups}
          schema={GroupSchema}
          columns={columns}
          keyOf={({ uid }) => uid}
          onOpen={({ uid }) => void navigate({ to: `/${uid}`, search: {} })}
          filters={[{ kind: "text", id: "name", title: "Name", placeholder: "The whole name" }]}
          defaultOrder="name"
          empty={
            partial.size === 0 ? (
              <Text>You belong to no organization yet. Ask for an invite, or create an organization over the API.</Text>
            ) : (
              <Text>You see no organization as a whole.</Text>
            )
          }
        />
        {partial.size > 0 && <PartialOrganizations organizations={partial} />}
      </Stack>
      <SessionEndedDialog />
    </Container>
  );
}
