/** An advisory as the feeds publish it now, and after the approval of events. */
import { useQuery } from "@connectrpc/connect-query";
import { AdvisoryPreviewsService } from "@holt/api/gen/holt/v1/advisory_previews_pb.ts";
import { Code, SimpleGrid, Stack, Tabs, Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";

const TITLES: Readonly<Record<string, string>> = { osv: "OSV", openvex: "OpenVEX", csaf: "CSAF", secdb: "secdb" };

export interface PreviewProps {
  /** uid of the advisory. */
  readonly uid: string;
  /** uids of the events to treat as approved; none by default. */
  readonly eventUids?: readonly string[];
}

export function Preview({ uid, eventUids = [] }: PreviewProps) {
  const request = { uid, eventUids: [...eventUids] };
  const { data, error } = useQuery(AdvisoryPreviewsService.method.previewAdvisory, request);
  if (error !== null) return <ErrorAlert error={error} title="The preview cannot be shown" />;
  if (data === undefined) return <Loading />;
  const isComparison = eventUids.length > 0;
  return (
    <Tabs defaultValue="osv" keepMounted={false}>
      <Tabs.List aria-label="Formats">
        {data.entries.map(({ format }) => (
          <Tabs.Tab key={format} value={format}>
            {TITLES[format] ?? format}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {data.entries.map(({ format, current, approved }) => (
        <Tabs.Panel key={format} value={format} pt="xs">
          <SimpleGrid cols={{ base: 1, sm: isComparison ? 2 : 1 }}>
            <Entry title="Published now" json={current} />
            {isComparison && <Entry title="After the approval" json={approved === current ? undefined : approved} />}
          </SimpleGrid>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** @param json undefined if it is the same as now, empty if nothing is published */
function Entry({ title, json }: { readonly title: string; readonly json: string | undefined }) {
  return (
    <Stack gap={4} style={{ minWidth: 0 }}>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      {json === undefined && <Text size="sm">The same as now.</Text>}
      {json === "" && <Text size="sm">Nothing in this format.</Text>}
      {json !== undefined && json !== "" && (
        <Code block tabIndex={0} style={{ maxHeight: "24rem", overflow: "auto" }}>
          {JSON.stringify(JSON.parse(json), undefined, 2)}
        </Code>
      )}
    </Stack>
  );
}
