/** Home of an organization: its numbers, what needs attention, and what has just happened. */
import { useQuery } from "@connectrpc/connect-query";
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import { ResourceLimitsService } from "@holt/api/gen/holt/v1/resource_limits_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useOrganization } from "../frame/organization.ts";
import { useOrganizationName } from "../frame/organization-name.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Search } from "../frame/search.ts";
import { bytesText } from "../object/bytes-text.ts";
import { CopyText } from "../object/copy-text.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { useRights } from "../session/rights.ts";
import { Attention } from "./attention.tsx";

export function Screen() {
  const uid = useOrganization();
  const { may } = useRights();
  const name = useOrganizationName();
  const { data: organization } = useQuery(GroupsService.method.getGroup, { uid });
  return (
    <Stack>
      <div>
        <Title order={1} size="h2">
          <bdi>{name}</bdi>
        </Title>
        {organization !== undefined && organization.description !== "" && (
          <Text c="dimmed">
            <bdi>{organization.description}</bdi>
          </Text>
        )}
        <CopyText label="uid" text={uid} />
      </div>
      <Counts uid={uid} />
      <Attention uid={uid} />
      {may(EventsService.method.listEvents, uid) && (
        <>
          <Title order={2} size="h4">
            Recent events
          </Title>
          <EventsTab group={uid} />
        </>
      )}
    </Stack>
  );
}

function Counts({ uid }: { readonly uid: string }) {
  const below = { uidp: { descendantsOf: uid }, pageSize: 1 };
  const { data: groups } = useQuery(GroupsService.method.listGroups, below);
  const { data: repos } = useQuery(ReposService.method.listRepos, below);
  const { listLibraryArtifacts } = LibraryArtifactsService.method;
  const { data: python } = useQuery(listLibraryArtifacts, { ...below, ecosystem: Ecosystem.PYTHON });
  const { data: java } = useQuery(listLibraryArtifacts, { ...below, ecosystem: Ecosystem.JAVA });
  const { data: advisories } = useQuery(AdvisoriesService.method.listAdvisories, below);
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
      <Count title="Groups" to="/groups" value={groups?.totalCount} />
      <Count title="Image repositories" to="/repositories" value={repos?.totalCount} />
      <Count title="Python libraries" to="/libraries" value={python?.totalCount} />
      <Count title="Java libraries" to="/libraries" search={{ ecosystem: "java" }} value={java?.totalCount} />
      <Count title="Advisories" to="/advisories" value={advisories?.totalCount} />
      <Storage uid={uid} />
    </SimpleGrid>
  );
}

/** Images and library files, and the limit that the operator has set. */
function Storage({ uid }: { readonly uid: string }) {
  const { missing } = useRights();
  const { getResourceLimits } = ResourceLimitsService.method;
  const isRefused = missing(getResourceLimits, uid).length > 0;
  const { data } = useQuery(getResourceLimits, { uid }, { enabled: !isRefused });
  const limit = data?.storageMb ?? 0;
  if (isRefused) return null;
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" wrap="nowrap">
        <Text>Storage</Text>
        <Text fw={600} size="xl">
          {data === undefined ? "…" : bytesText(data.usage?.storageBytes ?? 0)}
        </Text>
      </Group>
      {limit > 0 && (
        <Text size="sm" c="dimmed">
          of {bytesText(limit * 1_000_000)}
        </Text>
      )}
    </Paper>
  );
}

interface CountProps {
  readonly title: string;
  readonly to: string;
  readonly search?: Search;
  readonly value: bigint | undefined;
}

function Count({ title, to, search, value }: CountProps) {
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" wrap="nowrap">
        <ScreenLink to={to} search={search}>
          {title}
        </ScreenLink>
        <Text fw={600} size="xl">
          {value === undefined ? "…" : value.toLocaleString("en")}
        </Text>
      </Group>
    </Paper>
  );
}
