/** The vulnerabilities that were resolved in an image, day by day: a chart, and a table to print. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import {
  type ListResolvedVulnsReportsResponse,
  type ResolvedVuln,
  SecurityAdvisoryService,
} from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { lazy, Suspense, useMemo } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import { FilterBar } from "../list/filter-bar.tsx";
import type { Filter } from "../list/filters.ts";
import { WideTable } from "../object/wide-table.tsx";

/** The chart library formats numbers when it loads, and throws for names of languages that only some systems have, such as `en-US@posix`. */
const ResolvedChart = lazy(() => {
  try {
    new Intl.NumberFormat(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en", configurable: true });
  }
  return import("./resolved-chart.tsx");
});
const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

const filters: readonly Filter[] = [
  { kind: "text", id: "image", title: "Image repository", placeholder: "my-org/team/app, or its uid" },
  { kind: "text", id: "tag", title: "Tag", placeholder: "latest" },
  {
    kind: "choice",
    id: "days",
    title: "Days",
    placeholder: String(DEFAULT_DAYS),
    choices: [7, 90, 366].map((days) => ({ value: String(days), title: String(days) })),
  },
];

export function Screen() {
  const [search, change] = useSearchState();
  const { image = "", tag = "", days } = search;
  return (
    <Stack>
      <ScreenTitle>Resolved vulnerabilities</ScreenTitle>
      <Group align="flex-end" gap="sm" className="no-print">
        <FilterBar filters={filters} search={search} onChange={change} />
        <Button variant="default" size="xs" ml="auto" onClick={() => window.print()}>
          Print
        </Button>
      </Group>
      {image === "" ? (
        <Text>Name an image repository to see which of its vulnerabilities were resolved on which day.</Text>
      ) : (
        <Report repo={image} tag={tag} days={Number(days ?? DEFAULT_DAYS) || DEFAULT_DAYS} />
      )}
    </Stack>
  );
}

interface ReportProps {
  readonly repo: string;
  readonly tag: string;
  readonly days: number;
}

function Report({ repo, tag, days }: ReportProps) {
  // The same range until midnight, so that the answer is cached.
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const { data, error } = useQuery(SecurityAdvisoryService.method.listResolvedVulnsReports, {
    imageRefs: [{ repo, tags: tag === "" ? [] : [tag] }],
    startTime: timestampFromDate(new Date(today - (days - 1) * DAY_MS)),
    endTime: timestampFromDate(new Date(today)),
  });
  const reports = useMemo(() => daysOf(data), [data]);
  const chart = useMemo(
    () => ({ days: reports.map(({ date }) => date.getTime() / 1000), counts: reports.map(({ resolved }) => resolved.length) }),
    [reports],
  );
  if (error !== null) return <ErrorAlert error={error} title="The report cannot be made" />;
  if (data === undefined) return <Loading />;
  const busy = reports.filter(({ resolved }) => resolved.length > 0);
  const total = busy.reduce((sum, { resolved }) => sum + resolved.length, 0);
  return (
    <>
      <Text role="status">
        <bdi>
          {repo}:{tag || "latest"}
        </bdi>
        : {total} resolved in {days} days
      </Text>
      <Suspense fallback={<Loading />}>
        <ResolvedChart {...chart} />
      </Suspense>
      {busy.length > 0 && <ReportTable reports={busy} />}
    </>
  );
}

interface Day {
  readonly date: Date;
  readonly resolved: readonly ResolvedVuln[];
}

function daysOf(data: ListResolvedVulnsReportsResponse | undefined): readonly Day[] {
  return (data?.resolvedVulnsReports ?? [])
    .map(({ date, resolvedVulns }) => ({ date: date === undefined ? new Date(0) : timestampDate(date), resolved: resolvedVulns }))
    .sort((a, b) => a.date.getTime() - b.date.getTime());
}

/** Newest first. */
function ReportTable({ reports }: { readonly reports: readonly Day[] }) {
  return (
    <WideTable title="Resolved vulnerabilities by day">
      <Table.Thead>
        <Table.Tr>
          {["Day (UTC)", "Advisory", "Vulnerability", "CVSS"].map((title) => (
            <Table.Th key={title} scope="col">
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {reports.toReversed().flatMap(({ date, resolved }) =>
          resolved.map(({ id, aliases, cvssSeverities }) => (
            <Table.Tr key={`${date.getTime()} ${id}`}>
              <Table.Td>{date.toISOString().slice(0, 10)}</Table.Td>
              <Table.Td>
                <bdi>{id}</bdi>
              </Table.Td>
              <Table.Td>
                <bdi>{aliases.join(", ")}</bdi>
              </Table.Td>
              <Table.Td style={{ overflowWrap: "anywhere" }}>
                <bdi>
                  {cvssSeverities
                    .map(({ score }) => score)
                    .filter((score) => score !== "")
                    .join(", ")}
                </bdi>
              </Table.Td>
            </Table.Tr>
          )),
        )}
      </Table.Tbody>
    </WideTable>
  );
}
