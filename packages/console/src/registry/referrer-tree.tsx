/** The artifacts that are attached to an image, and what is attached to each of them, as a tree that loads as it is opened. */
import { useQuery } from "@connectrpc/connect-query";
import {
  type ImageReferrer,
  ImageReferrersService,
  type ImageSignature,
  SignatureStateSchema,
} from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import { Button, List, Text } from "@mantine/core";
import { useState } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { ScreenLink } from "../frame/screen-link.tsx";
import { enumText } from "../object/enum-text.ts";
import { Time } from "../object/time.tsx";
import type { ImageProps } from "./image-packages.tsx";

/** Artifacts per node. The list has all of them. */
const MAX_NODES = 100;

export function signerText({ signatureKeyName, signatureIdentityName, reason }: ImageSignature): string {
  return signatureKeyName || signatureIdentityName || reason;
}

/** @param empty stands for no artifacts */
export function ReferrerTree({ uid, digest, empty }: ImageProps & { readonly empty: string }) {
  const request = { uid, digest, pageSize: MAX_NODES };
  const { data, error, refetch } = useQuery(ImageReferrersService.method.listImageReferrers, request);
  if (error !== null) return <ErrorAlert error={error} title="The attached artifacts cannot be shown" onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.referrers.length === 0) return <Text size="sm">{empty}</Text>;
  return (
    <List listStyleType="none" spacing="xs" aria-label={`Attached to ${digest.slice(0, SHORT_DIGEST)}`}>
      {data.referrers.map((referrer) => (
        <Node key={referrer.digest} uid={uid} referrer={referrer} />
      ))}
      {data.nextPageToken !== "" && <List.Item>More follow in the list.</List.Item>}
    </List>
  );
}

const SHORT_DIGEST = 19;

function Node({ uid, referrer }: { readonly uid: string; readonly referrer: ImageReferrer }) {
  const [isOpen, setOpen] = useState(false);
  const { digest, artifactType, mediaType, state, signatures, createTime } = referrer;
  const signers = [...new Set(signatures.map(signerText))].filter((text) => text !== "").join(", ");
  return (
    <List.Item>
      <Button
        size="compact-xs"
        variant="default"
        mr="xs"
        aria-expanded={isOpen}
        aria-label={`What is attached to ${digest.slice(0, SHORT_DIGEST)}`}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? "−" : "+"}
      </Button>
      <bdi>{artifactType || mediaType}</bdi>, {enumText(SignatureStateSchema, state)}
      {signers !== "" && (
        <>
          {" "}
          (<bdi>{signers}</bdi>)
        </>
      )}
      , <Time value={createTime} />
      <br />
      <ScreenLink to="/image" uid={`${uid}/${digest}`} search={{ tab: "referrers" }} size="sm" style={{ overflowWrap: "anywhere" }}>
        {digest}
      </ScreenLink>
      {isOpen && (
        <div style={{ marginInlineStart: "1.25rem", marginTop: "var(--mantine-spacing-xs)" }}>
          <ReferrerTree uid={uid} digest={digest} empty="Nothing is attached to it." />
        </div>
      )}
    </List.Item>
  );
}
