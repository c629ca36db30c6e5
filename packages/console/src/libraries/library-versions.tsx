/** The versions of a library. Versions of Python projects are yanked, or deleted with their files. */
import { LibraryArtifactsService, type LibraryVersion, LibraryVersionSchema } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import type { Artifact } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Group, Text } from "@mantine/core";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ecosystemView, sizeText } from "./ecosystem.ts";
import { DeleteVersionButton, YankButton } from "./version-actions.tsx";

export function yankText({ yankTime, yankReason }: Pick<LibraryVersion, "yankTime" | "yankReason">): string {
  return yankTime === undefined ? "" : yankReason || "yes";
}

const columns: readonly Column<LibraryVersion>[] = [
  { id: "yanked", title: "Yanked", text: yankText },
  { id: "size", title: "Size", text: ({ sizeBytes }) => String(sizeBytes), cell: ({ sizeBytes }) => sizeText(sizeBytes) },
  timeColumn({ id: "published", title: "Published", time: ({ createTime }) => createTime, orderBy: "create_time" }),
  { id: "remediated", title: "Remediated", text: ({ remediated }) => (remediated ? "yes" : ""), isHidden: true },
  { id: "cuda", title: "CUDA", text: ({ cudaVersion }) => cudaVersion, isHidden: true },
  { id: "description", title: "Description", text: ({ description }) => description, isHidden: true },
];

export function LibraryVersions({ library }: { readonly library: Artifact }) {
  const { uid, ecosystem } = library;
  const version: Column<LibraryVersion> = {
    id: "version",
    title: "Version",
    text: (each) => each.version,
    cell: (each) => (
      <ScreenLink to="/library" uid={uid} search={{ tab: "files", version: each.version }}>
        <bdi>{each.version}</bdi>
      </ScreenLink>
    ),
    orderBy: "version",
  };
  const actions: Column<LibraryVersion> = {
    id: "actions",
    title: "Actions",
    text: () => "",
    cell: (each) => (
      <Group gap="xs" wrap="nowrap">
        {ecosystemView(ecosystem).path === "python" && <YankButton library={library} version={each} />}
        <DeleteVersionButton library={library} version={each} />
      </Group>
    ),
  };
  return (
    <List
      title="Versions"
      method={LibraryArtifactsService.method.listLibraryVersions}
      request={{ uid }}
      itemsOf={({ versions }) => versions}
      schema={LibraryVersionSchema}
      columns={[version, ...columns, actions]}
      keyOf={(each) => each.uid}
      defaultOrder="version desc"
      empty={<Text>This library has no versions.</Text>}
    />
  );
}
