/** The files of a library with their hashes. */
import { LibraryArtifactsService, type LibraryFile, LibraryFileSchema } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import type { Artifact } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Text } from "@mantine/core";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { sizeText } from "./ecosystem.ts";
import { yankText } from "./library-versions.tsx";

const columns: readonly Column<LibraryFile>[] = [
  { id: "path", title: "File", text: ({ path }) => path },
  { id: "version", title: "Version", text: ({ version }) => version },
  { id: "size", title: "Size", text: ({ size }) => String(size), cell: ({ size }) => sizeText(size) },
  {
    id: "sha256",
    title: "SHA-256",
    text: ({ sha256 }) => sha256,
    cell: ({ path, sha256 }) => <CopyText label={`SHA-256 of ${path}`} text={sha256} />,
  },
  { id: "yanked", title: "Yanked", text: yankText },
  timeColumn({ id: "published", title: "Published", time: ({ createTime }) => createTime }),
  { id: "publisher", title: "uid of the publisher", text: ({ publisher }) => publisher, isHidden: true },
  { id: "sha512", title: "SHA-512", text: ({ sha512 }) => sha512, isHidden: true },
  { id: "sha1", title: "SHA-1", text: ({ sha1 }) => sha1, isHidden: true },
  { id: "md5", title: "MD5", text: ({ md5 }) => md5, isHidden: true },
];

export function LibraryFiles({ library: { uid } }: { readonly library: Artifact }) {
  const [{ version = "" }] = useSearchState();
  return (
    <List
      title="Files"
      method={LibraryArtifactsService.method.listLibraryFiles}
      request={{ uid, version }}
      itemsOf={({ files }) => files}
      schema={LibraryFileSchema}
      columns={columns}
      keyOf={({ path }) => path}
      filters={[{ kind: "text", id: "version", title: "Version", placeholder: "The whole version" }]}
      empty={<Text>This library has no files.</Text>}
    />
  );
}
