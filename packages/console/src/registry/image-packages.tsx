/** The packages in an image, and whether the server has read all of them. */
import { useQuery } from "@connectrpc/connect-query";
import { type ImagePackage, ImagePackageSchema, ImagePackagesService, ImageScan_State } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { Alert, Stack, Text } from "@mantine/core";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";

const columns: readonly Column<ImagePackage>[] = [
  { id: "name", title: "Package", text: ({ name }) => name },
  { id: "version", title: "Version", text: ({ version }) => version },
  { id: "type", title: "Type", text: ({ type }) => type },
  { id: "platform", title: "Platform", text: ({ platform }) => platform },
  { id: "origin", title: "Source package", text: ({ origin }) => origin, isHidden: true },
  { id: "purl", title: "Package URL", text: ({ purl }) => purl, isHidden: true },
  { id: "location", title: "Found in", text: ({ location }) => location, isHidden: true },
];

export interface ImageProps {
  /** Uid of the repository. */
  readonly uid: string;
  readonly digest: string;
}

export function ImagePackages({ uid, digest }: ImageProps) {
  return (
    <Stack>
      <ScanState uid={uid} digest={digest} />
      <List
        title="Packages"
        method={ImagePackagesService.method.listImagePackages}
        request={{ uid, digest }}
        itemsOf={({ packages }) => packages}
        schema={ImagePackageSchema}
        columns={columns}
        keyOf={({ imageDigest, type, name, version, architecture, location }) =>
          [imageDigest, type, name, version, architecture, location].join(" ")
        }
        empty={<Text>No packages are known in this image. An attached SBOM adds those that no package database lists.</Text>}
      />
    </Stack>
  );
}

function ScanState({ uid, digest }: ImageProps) {
  const { data } = useQuery(ImagePackagesService.method.listImagePackages, { uid, digest, pageSize: 1 });
  const errors = (data?.scans ?? []).flatMap(({ error }) => (error === "" ? [] : error.split("\n")));
  if (data?.state === ImageScan_State.PENDING) return <Text role="status">The server is still reading this image.</Text>;
  if (errors.length === 0) return null;
  return (
    <Alert variant="outline" title="Not everything in this image could be read">
      {errors.map((error) => (
        <Text key={error}>
          <bdi>{error}</bdi>
        </Text>
      ))}
    </Alert>
  );
}
