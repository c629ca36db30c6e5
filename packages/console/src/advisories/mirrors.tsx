/** The mirrors of feeds from elsewhere, and the feeds that the organization publishes. */
import { useMutation } from "@connectrpc/connect-query";
import { type AdvisoryMirror, AdvisoryMirrorSchema, AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { Group, Stack, Text, Title } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ActionButton } from "../object/action-button.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { Time, timeText } from "../object/time.tsx";
import { CreateMirrorButton } from "./create-mirror.tsx";

const columns: readonly Column<AdvisoryMirror>[] = [
  { id: "name", title: "Name", text: ({ name }) => name, orderBy: "name" },
  { id: "url", title: "Address", text: ({ url }) => url },
  timeColumn({ id: "last", title: "Last success", time: ({ status }) => status?.lastSuccessTime }),
  { id: "error", title: "Problem", text: ({ status }) => status?.error ?? "" },
  {
    id: "next",
    title: "Next fetch",
    text: ({ status }) => timeText(status?.nextTime),
    cell: ({ status }) => (status?.nextTime === undefined ? "importing" : <Time value={status.nextTime} />),
  },
  {
    id: "import",
    title: "Last import",
    text: ({ status }) => status?.lastImport ?? "",
    cell: ({ status, name }) =>
      status === undefined || status.lastImport === "" ? (
        ""
      ) : (
        <ScreenLink to="/import" uid={status.lastImport} aria-label={`Last import of ${name}`}>
          {String(status.counts?.read ?? 0n)} records
        </ScreenLink>
      ),
  },
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

export function Screen() {
  const organization = useOrganization();
  const [{ group = "" }] = useSearchState();
  const fetchNow = useMutation(AdvisoryMirrorsService.method.runAdvisoryMirror);
  const remove = useMutation(AdvisoryMirrorsService.method.deleteAdvisoryMirror);
  const actions: Column<AdvisoryMirror> = {
    id: "actions",
    title: "Actions",
    text: () => "",
    cell: ({ uid, name }) => (
      <Group gap="xs" wrap="nowrap">
        <ActionButton
          method={AdvisoryMirrorsService.method.runAdvisoryMirror}
          uid={uid}
          variant="default"
          size="compact-xs"
          onClick={() => fetchNow.mutate({ uid })}
        >
          Fetch now
        </ActionButton>
        <ConfirmButton
          label="Delete"
          question={`Delete the mirror ${name}?`}
          method={AdvisoryMirrorsService.method.deleteAdvisoryMirror}
          uid={uid}
          isCompact
          run={async () => {
            await remove.mutateAsync({ uid });
          }}
        >
          The advisories that it has brought stay.
        </ConfirmButton>
      </Group>
    ),
  };
  return (
    <Stack>
      <ScreenTitle>Mirrors and feeds</ScreenTitle>
      {fetchNow.error !== null && <ErrorAlert error={fetchNow.error} />}
      <List
        title="Mirrors"
        method={AdvisoryMirrorsService.method.listAdvisoryMirrors}
        request={{ uidp: group === "" ? { descendantsOf: organization } : { childrenOf: group } }}
        itemsOf={({ advisoryMirrors }) => advisoryMirrors}
        schema={AdvisoryMirrorSchema}
        columns={[...columns, actions]}
        keyOf={({ uid }) => uid}
        filters={[{ kind: "group", id: "group", title: "Group" }]}
        defaultOrder="name"
        empty={<Text>No feed is mirrored yet. “New mirror” fetches one from an address, now and on a schedule.</Text>}
        actions={<CreateMirrorButton parent={group === "" ? organization : group} />}
      />
      <Feeds group={group === "" ? organization : group} />
    </Stack>
  );
}

const FEEDS = ["osv.zip", "openvex.json", "csaf.zip", "secdb.json"];

function Feeds({ group }: { readonly group: string }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Feeds
      </Title>
      <Text>Scanners read the approved advisories of the group from these addresses, with a token or, if they are public, without.</Text>
      {FEEDS.map((file) => (
        <CopyText key={file} label={file} text={`${location.origin}/holt/v1/feeds/${group}/${file}`} />
      ))}
    </Stack>
  );
}
