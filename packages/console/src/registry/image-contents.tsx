/** The platforms of an image with their sizes, and the layers of each. */
import { useQuery } from "@connectrpc/connect-query";
import { ImageContentsService, type ImagePlatform } from "@holt/api/gen/holt/v1/image_contents_pb.ts";
import { Stack, Table, Text, Title } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { ScreenLink } from "../frame/screen-link.tsx";
import { bytesText } from "../object/bytes-text.ts";
import { WideTable } from "../object/wide-table.tsx";
import type { ImageProps } from "./image-packages.tsx";

export function ImageContents({ uid, digest }: ImageProps) {
  const { data, error, refetch } = useQuery(ImageContentsService.method.getImageContents, { uid, digest });
  if (error !== null) return <ErrorAlert error={error} title="The layers cannot be shown" onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.platforms.length === 0) return <Text>This is not an image: it has no platform and no layers.</Text>;
  return (
    <Stack>
      {data.platforms.map((platform) => (
        <PlatformLayers key={`${nameOf(platform)} ${platform.digest}`} uid={uid} platform={platform} isImage={platform.digest === digest} />
      ))}
    </Stack>
  );
}

function nameOf({ os, architecture, variant }: ImagePlatform): string {
  return [os, architecture, variant].filter((part) => part !== "").join("/") || "unknown platform";
}

interface PlatformLayersProps {
  readonly uid: string;
  readonly platform: ImagePlatform;
  /** Whether the screen shows this platform's manifest, and not an index. */
  readonly isImage: boolean;
}

function PlatformLayers({ uid, platform, isImage }: PlatformLayersProps) {
  const { digest, sizeBytes, layers } = platform;
  const name = nameOf(platform);
  return (
    <div>
      <Title order={2} size="h4">
        <bdi>{name}</bdi>
      </Title>
      <Text size="sm">
        {bytesText(sizeBytes)} compressed, {layers.length} {layers.length === 1 ? "layer" : "layers"}
        {!isImage && (
          <>
            ,{" "}
            <ScreenLink to="/image" uid={`${uid}/${digest}`} style={{ overflowWrap: "anywhere" }}>
              {digest}
            </ScreenLink>
          </>
        )}
      </Text>
      <WideTable title={`Layers of ${name}`}>
        <Table.Thead>
          <Table.Tr>
            {["Layer", "Size", "Digest", "Type"].map((title) => (
              <Table.Th key={title} scope="col">
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {layers.map((layer, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an image may have the same layer twice
            <Table.Tr key={index}>
              <Table.Td>{index + 1}</Table.Td>
              <Table.Td style={{ whiteSpace: "nowrap" }}>{bytesText(layer.sizeBytes)}</Table.Td>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{layer.digest}</Table.Td>
              <Table.Td style={{ overflowWrap: "anywhere" }}>
                <bdi>{layer.mediaType}</bdi>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </div>
  );
}
