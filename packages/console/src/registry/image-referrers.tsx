/** The artifacts that are attached to an image, such as signatures, SBOMs and attestations, and whether their signatures are trusted. */
import {
  type ImageReferrer,
  ImageReferrerSchema,
  ImageReferrersService,
  SignatureStateSchema,
} from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import { Button, Stack, Text } from "@mantine/core";
import { ScreenLink } from "../frame/screen-link.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { enumText } from "../object/enum-text.ts";
import type { ImageProps } from "./image-packages.tsx";
import { ReferrerTree, signerText } from "./referrer-tree.tsx";

const columns: readonly Column<ImageReferrer>[] = [
  { id: "type", title: "Type", text: ({ artifactType, mediaType }) => artifactType || mediaType },
  { id: "state", title: "Signature", text: ({ state }) => enumText(SignatureStateSchema, state) },
  { id: "signers", title: "Signed by, or why not trusted", text: ({ signatures }) => signatures.map(signerText).join(", ") },
  timeColumn({ id: "created", title: "Pushed", time: ({ createTime }) => createTime }),
  { id: "size", title: "Bytes of the manifest", text: ({ size }) => String(size), isHidden: true },
];

/** As a tree, or as a list that can be exported. */
export function ImageReferrers(props: ImageProps) {
  const [{ view }, change] = useSearchState();
  const isList = view === "list";
  return (
    <Stack align="stretch">
      <Button variant="default" size="xs" style={{ alignSelf: "flex-start" }} onClick={() => change({ view: isList ? "" : "list" })}>
        {isList ? "Show as a tree" : "Show as a list"}
      </Button>
      {isList ? <ReferrerList {...props} /> : <ReferrerTree {...props} empty={EMPTY} />}
    </Stack>
  );
}

const EMPTY = "Nothing is attached to this image. cosign and oras attach signatures and SBOMs.";

function ReferrerList({ uid, digest }: ImageProps) {
  const digestColumn: Column<ImageReferrer> = {
    id: "digest",
    title: "Digest",
    text: (referrer) => referrer.digest,
    cell: (referrer) => (
      <ScreenLink to="/image" uid={`${uid}/${referrer.digest}`} search={{ tab: "referrers" }} style={{ overflowWrap: "anywhere" }}>
        {referrer.digest}
      </ScreenLink>
    ),
  };
  return (
    <List
      title="Attached artifacts"
      method={ImageReferrersService.method.listImageReferrers}
      request={{ uid, digest }}
      itemsOf={({ referrers }) => referrers}
      schema={ImageReferrerSchema}
      columns={[...columns, digestColumn]}
      keyOf={(referrer) => referrer.digest}
      empty={<Text>{EMPTY}</Text>}
    />
  );
}
