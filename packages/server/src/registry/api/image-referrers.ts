/** The artifacts that are attached to an image, and whether trusted keys made their signatures. Read-only. */
import { create } from "@bufbuild/protobuf";
import {
  type ImageReferrer,
  ImageReferrerSchema,
  ImageReferrersService,
  type ImageSignature,
  ImageSignatureSchema,
  ListImageReferrersResponseSchema,
  SignatureState,
} from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import { assertConnected } from "../../api/call/assert-connected.ts";
import type { Call } from "../../api/call/call.ts";
import { implement, read } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import { isDigest } from "../../blobs/digest.ts";
import type { BlobStore } from "../../blobs/store.ts";
import { findSignatureIdentities } from "../../iam/signers/signature-identity.ts";
import { createFairQueue } from "../../jobs/fair-queue.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { timestampFromText } from "../../lib/clock.ts";
import { notFound, resourceExhausted } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { type CheckContext, type CheckedSignature, checkReferrer } from "../signatures/check-referrer.ts";
import { type AttachedManifest, findAttached, readContent } from "../signatures/find-attached.ts";
import { findKeysOfRepo } from "../signatures/signature-key.ts";

/** A page ends after the referrer that reaches one of them. */
const MAX_SIGNATURES_PER_PAGE = 100;
const MAX_BYTES_PER_PAGE = 32 * 1024 * 1024;
/** Calls that verify signatures at the same time: each holds a document of up to 16 MiB. */
const MAX_CALLS = 8;
const MAX_WAITING = 200;
const MAX_WAITING_OF_ONE = 32;

export interface ImageReferrersCollaborators {
  readonly pageTokens: PageTokens;
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
  readonly trustedRoot: string;
}

export function imageReferrersService({ pageTokens, blobs, parsers, trustedRoot }: ImageReferrersCollaborators) {
  const calls = createFairQueue({
    slots: MAX_CALLS,
    // However much one organization asks for, it leaves as many slots free as it has.
    shareOfOne: 1 / 2,
    maxWaitingOfOne: MAX_WAITING_OF_ONE,
    maxWaiting: MAX_WAITING,
    refusal: () => resourceExhausted("the server already verifies as many signatures for the organization as it may; try again shortly", 1),
  });
  return implement(
    ImageReferrersService,
    {
      listImageReferrers: read(async ({ uid, digest, pageSize, pageToken }, call) => {
        const { db, now, operation, principal } = call;
        const { limit } = parsePageRequest({ pageSize, skip: 0 });
        const binding = bindingOf({ operation, principal }, uid, digest);
        const after = pageToken === "" ? "" : (pageTokens.open(pageToken, binding, now)?.key ?? "");
        const manifest = isDigest(digest) ? await readContent(db, uid, digest) : undefined;
        if (manifest === undefined) throw notFound("Image", digest.slice(0, 200));
        const found = await findAttached(db, { repoUid: uid, digest }, after, limit + 1);
        const keys = await findKeysOfRepo(db, uid);
        const identities = await findSignatureIdentities(db, parentOf(uid));
        const signers = new Map([...keys, ...identities].map(({ uid, name }) => [uid, name]));
        const context = { db, blobs, parsers, repoUid: uid, subject: digest, manifest, keys, identities, trustedRoot };
        const referrers = await calls.run(uid, () => checkPage(found.slice(0, limit), signers, context, call));
        const last = referrers.length < found.length ? referrers.at(-1)?.digest : undefined;
        const nextPageToken = last === undefined ? "" : pageTokens.seal({ key: last, uid: "", skipped: 0 }, binding, now);
        return create(ListImageReferrersResponseSchema, { referrers, nextPageToken });
      }),
    },
    "Repo",
  );
}

/** From the uid of a key or an identity to its name. */
type SignerNames = ReadonlyMap<string, string>;

async function checkPage(
  found: readonly AttachedManifest[],
  names: SignerNames,
  context: CheckContext,
  call: Call,
): Promise<ImageReferrer[]> {
  const referrers: ImageReferrer[] = [];
  let signatures = 0;
  let bytes = 0;
  for (const manifest of found) {
    if (signatures >= MAX_SIGNATURES_PER_PAGE || bytes >= MAX_BYTES_PER_PAGE) break;
    assertConnected(call);
    const content = await readContent(context.db, context.repoUid, manifest.digest);
    const checked = content === undefined ? [] : await checkReferrer(content, context);
    referrers.push(referrerOf(manifest, checked, names));
    signatures += checked.length;
    bytes += checked.reduce((sum, { size }) => sum + size, content?.length ?? 0);
  }
  return referrers;
}

function referrerOf(manifest: AttachedManifest, checked: readonly CheckedSignature[], names: SignerNames): ImageReferrer {
  const signatures = checked.map((each) => signatureOf(each, names));
  return create(ImageReferrerSchema, {
    digest: manifest.digest,
    mediaType: manifest.media_type,
    artifactType: manifest.artifact_type ?? "",
    size: BigInt(manifest.size),
    createTime: timestampFromText(manifest.create_time),
    state: stateOf(signatures),
    signatures,
  });
}

function signatureOf({ layer: { digest, mediaType }, verdict }: CheckedSignature, names: SignerNames): ImageSignature {
  const signer = "signer" in verdict ? verdict.signer : undefined;
  const certificate = { certificateIssuer: signer?.issuer ?? "", certificateSubject: signer?.subject ?? "" };
  const signature = create(ImageSignatureSchema, { digest, mediaType, state: STATES[verdict.state], ...certificate });
  if (verdict.state !== "verified") return Object.assign(signature, { reason: verdict.reason });
  signature.predicateType = verdict.predicateType ?? "";
  const uid = "key" in verdict ? verdict.key : verdict.identity;
  const name = names.get(uid) ?? "";
  if ("key" in verdict) return Object.assign(signature, { signatureKey: uid, signatureKeyName: name });
  return Object.assign(signature, { signatureIdentity: uid, signatureIdentityName: name });
}

const STATES = { verified: SignatureState.VERIFIED, unverified: SignatureState.UNVERIFIED, invalid: SignatureState.INVALID } as const;

function stateOf(signatures: readonly ImageSignature[]): SignatureState {
  const order = [SignatureState.VERIFIED, SignatureState.INVALID, SignatureState.UNVERIFIED];
  return order.find((state) => signatures.some((signature) => signature.state === state)) ?? SignatureState.UNSIGNED;
}
