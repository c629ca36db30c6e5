/** One import, with its progress while it runs, and the records that it left out. */
import { type Import, Import_State, Import_StateSchema, type ImportProblem, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Loader, Table, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { Details } from "../object/details.tsx";
import { enumText } from "../object/enum-text.ts";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { useDelete } from "../object/use-delete.ts";
import { useObject } from "../object/use-object.ts";
import { WideTable } from "../object/wide-table.tsx";
import { GroupPath } from "../tree/group-path.tsx";

const REFRESH_MS = 1_000;
const FINAL: ReadonlySet<Import_State> = new Set([Import_State.DONE, Import_State.FAILED]);

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(ImportsService.method.deleteImport);
  const { data, error, retry } = useObject(
    ImportsService.method.getImport,
    { uid },
    { refetchInterval: ({ state }) => (state.data === undefined || FINAL.has(state.data.state) ? false : REFRESH_MS) },
  );
  if (error !== null) return <ErrorAlert error={error} title="The import cannot be shown" onRetry={retry} />;
  if (data === undefined) return <Loading />;
  const leave = () => navigate({ to: screenPath(organization, "/imports"), search: {} });
  return (
    <ObjectFrame
      kind="Import"
      name={data.fileName}
      uid={uid}
      method={ImportsService.method.getImport}
      path={<GroupPath uid={uid} />}
      actions={
        <ConfirmButton
          label="Delete"
          question={`Delete the import ${data.fileName}?`}
          method={ImportsService.method.deleteImport}
          uid={uid}
          run={() => remove({ uid }, leave)}
        >
          {FINAL.has(data.state) ? "The records that it has stored stay." : "It stops. The records that it has stored so far stay."}
        </ConfirmButton>
      }
      tabs={[
        { id: "progress", title: "Progress", content: <ImportProgress data={data} /> },
        { id: "problems", title: `Problems (${data.counts?.problems ?? 0n})`, content: <Problems problems={data.problems} /> },
        { id: "events", title: "Events", content: <EventsTab group={parentOf(uid)} subject={uid} /> },
      ]}
    />
  );
}

function ImportProgress({ data }: { readonly data: Import }) {
  const { state, counts, error, receivedBytes, url } = data;
  const number = (value: bigint | undefined) => (value ?? 0n).toLocaleString("en");
  return (
    <Details
      rows={[
        [
          "State",
          <span key="state" role="status">
            {enumText(Import_StateSchema, state)} {!FINAL.has(state) && <Loader size="xs" aria-hidden />}
          </span>,
        ],
        ["Why it failed", <bdi key="error">{error}</bdi>],
        ["Address", <bdi key="url">{url}</bdi>],
        ["Bytes", number(receivedBytes)],
        ["Records read", number(counts?.read)],
        ["Created", number(counts?.created)],
        ["Updated", number(counts?.updated)],
        ["Unchanged", number(counts?.unchanged)],
        ["Problems", number(counts?.problems)],
        ["Started", <Time key="start" value={data.startTime} />],
        ["Finished", <Time key="end" value={data.endTime} />],
      ]}
    />
  );
}

function Problems({ problems }: { readonly problems: readonly ImportProblem[] }) {
  if (problems.length === 0) return <Text>All records were read so far.</Text>;
  return (
    <WideTable title="Problems">
      <Table.Caption>The first 1,000 problems</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">File</Table.Th>
          <Table.Th scope="col">Line or place</Table.Th>
          <Table.Th scope="col">Reason</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {problems.map(({ file, position, reason }) => (
          <Table.Tr key={`${file} ${position} ${reason}`}>
            {[file, position, reason].map((text, index) => (
              <Table.Td key={["file", "position", "reason"][index]} style={{ overflowWrap: "anywhere" }}>
                <bdi>{text}</bdi>
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}
