/** The imports of the organization or of one group, newest first. */
import { type Import, Import_StateSchema, ImportKindSchema, ImportSchema, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { enumText } from "../object/enum-text.ts";
import { CreateMirrorButton } from "./create-mirror.tsx";
import { FetchImportButton } from "./fetch-import.tsx";
import { UploadImportButton } from "./upload-import.tsx";

const columns: readonly Column<Import>[] = [
  {
    id: "file",
    title: "File",
    text: ({ fileName }) => fileName,
    cell: ({ uid, fileName }) => (
      <ScreenLink to="/import" uid={uid}>
        <bdi>{fileName}</bdi>
      </ScreenLink>
    ),
  },
  { id: "state", title: "State", text: ({ state, error }) => [enumText(Import_StateSchema, state), error].filter(Boolean).join(": ") },
  { id: "read", title: "Records", text: ({ counts }) => String(counts?.read ?? 0n) },
  { id: "problems", title: "Problems", text: ({ counts }) => String(counts?.problems ?? 0n) },
  { id: "kind", title: "Kind", text: ({ kind }) => enumText(ImportKindSchema, kind), isHidden: true },
  { id: "mirror", title: "By a mirror", text: ({ mirror }) => mirror, isHidden: true },
  timeColumn({ id: "created", title: "Begun", time: ({ createTime }) => createTime }),
];

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [{ group = "" }] = useSearchState();
  const parent = group === "" ? organization : group;
  return (
    <>
      <ScreenTitle>Imports</ScreenTitle>
      <List
        title="Imports"
        method={ImportsService.method.listImports}
        request={{ parent }}
        itemsOf={({ imports }) => imports}
        schema={ImportSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/import", uid), search: {} })}
        filters={[{ kind: "group", id: "group", title: "Group" }]}
        empty={
          <Text>
            Nothing was imported in the last 30 days. “Import a file” uploads one, “Import an address” fetches one, and “New mirror” fetches
            one again and again.
          </Text>
        }
        actions={
          <>
            <CreateMirrorButton parent={parent} />
            <FetchImportButton parent={parent} />
            <UploadImportButton parent={parent} />
          </>
        }
      />
    </>
  );
}
