/** Lists the content that goes along with an image, a tag or a repository. */
import { useQuery } from "@connectrpc/connect-query";
import { ImageContentsService, type DeletionPreview as Preview } from "@holt/api/gen/holt/v1/image_contents_pb.ts";
import { List, Stack, Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { bytesText } from "../object/bytes-text.ts";
import { useRights } from "../session/rights.ts";

export interface DeletionPreviewProps {
  /** Uid of the repository. */
  readonly uid: string;
  readonly digest?: string;
  readonly tag?: string;
}

export function DeletionPreview({ uid, digest = "", tag = "" }: DeletionPreviewProps) {
  const { previewDeletion } = ImageContentsService.method;
  const isAllowed = useRights().may(previewDeletion, uid);
  const { data, error } = useQuery(previewDeletion, { uid, digest, tag }, { enabled: isAllowed });
  if (!isAllowed) return <Text>You may not see what goes along.</Text>;
  if (error !== null) return <ErrorAlert error={error} title="It is not known what goes along" />;
  if (data === undefined) return <Loading />;
  return (
    <Stack gap="xs">
      <Text>This goes along:</Text>
      <List aria-label="What goes along">
        {linesOf(data).map((line) => (
          <List.Item key={line}>
            <bdi>{line}</bdi>
          </List.Item>
        ))}
      </List>
      {data.isPartial && <Text>There is more: the repository is too large to count everything.</Text>}
      <Text>
        The storage of the organization shrinks by {bytesText(data.freedBytes)}. Content without a tag stays readable by its digest until
        the grace period of the collection ends. This cannot be undone.
      </Text>
    </Stack>
  );
}

function linesOf({ tags, tagCount, manifestCount, referrers, referrerCount, blobCount }: Preview): string[] {
  return [
    withNames("Tags", tagCount, tags),
    `Images, indexes and artifacts: ${manifestCount.toLocaleString("en")}`,
    withNames("Signatures, attestations and SBOMs", referrerCount, [...new Set(referrers.map(({ artifactType }) => artifactType))]),
    `Layers and other content: ${blobCount.toLocaleString("en")}`,
  ];
}

/** Names shown in one line. */
const MAX_NAMES = 10;

function withNames(title: string, count: bigint, names: readonly string[]): string {
  const some = names.slice(0, MAX_NAMES).join(", ");
  const more = names.length > MAX_NAMES ? ", …" : "";
  return `${title}: ${count.toLocaleString("en")}${some === "" ? "" : ` (${some}${more})`}`;
}
