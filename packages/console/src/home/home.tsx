/** Home of an organization: its description and the numbers of its groups and image repositories. */
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { CopyText } from "../object/copy-text.tsx";

export function Screen() {
  const uid = useOrganization();
  const below = { uidp: { descendantsOf: uid }, pageSize: 1 };
  const { data: organization } = useQuery(GroupsService.method.getGroup, { uid });
  const { data: groups } = useQuery(GroupsService.method.listGroups, below);
  const { data: repos } = useQuery(ReposService.method.listRepos, below);
  return (
    <Stack>
      <div>
        <Title order={1} size="h2">
          <bdi>{organization?.name ?? "…"}</bdi>
        </Title>
        {organization !== undefined && organization.description !== "" && (
          <Text c="dimmed">
            <bdi>{organization.description}</bdi>
          </Text>
        )}
        <CopyText label="uid" text={uid} />
      </div>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <Count title="Groups" to="/groups" value={groups?.totalCount} />
        <Count title="Image repositories" to="/repositories" value={repos?.totalCount} />
      </SimpleGrid>
    </Stack>
  );
}

function Count({ title, to, value }: { readonly title: string; readonly to: string; readonly value: bigint | undefined }) {
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <ScreenLink to={to}>{title}</ScreenLink>
        <Text fw={600} size="xl">
          {value === undefined ? "…" : value.toLocaleString("en")}
        </Text>
      </Group>
    </Paper>
  );
}
