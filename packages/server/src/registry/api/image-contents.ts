/** Shows the layers of images, compares the packages of two, previews deletions, and deletes. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type DeletionPreview,
  DeletionPreviewSchema,
  ImageComparisonSchema,
  ImageContentsSchema,
  ImageContentsService,
} from "@holt/api/gen/holt/v1/image_contents_pb.ts";
import { actorFromPrincipal } from "../../access/actor.ts";
import type { Call } from "../../api/call/call.ts";
import { implement, read } from "../../api/call/implement.ts";
import { isDigest } from "../../blobs/digest.ts";
import type { BlobReference } from "../../blobs/references.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { invalidArguments, notFound } from "../../lib/errors.ts";
import type { EventNames } from "../../outbox/outbox.ts";
import { type ApiDeletion, deleteManifestIn, untagManifest } from "../collection/delete-content.ts";
import { previewRemoval, type Removal, type RemovedContent, removalOf } from "../collection/deletion-preview.ts";
import { type PlatformLayers, readImageLayers } from "../content/image-layers.ts";
import { OciError } from "../oci-error.ts";
import { differencesOf, readAllPackages } from "../packages/compare-packages.ts";
import { descriptionsOf } from "../packages/descriptions.ts";

const MAX_DIFFERENCES = 5000;
/** Tags and referrers that a preview names. */
const MAX_NAMED = 100;

export interface ImageContentsCollaborators {
  readonly store: Store;
  readonly parsers: Parsers;
  readonly names: EventNames;
  readonly blobReferences: readonly BlobReference[];
}

export function imageContentsService({ store, parsers, names, blobReferences }: ImageContentsCollaborators) {
  return implement(
    ImageContentsService,
    {
      getImageContents: read(async ({ uid, digest }, { db }) => {
        await assertManifest(db, uid, digest);
        const platforms = await readImageLayers(db, uid, digest, parsers);
        return create(ImageContentsSchema, { platforms: platforms.map(platformOf) });
      }),

      compareImages: read(async ({ uid, digest, before }, { db }) => {
        const old = await descriptionsOf(db, uid, before);
        const now = await descriptionsOf(db, uid, digest);
        const differences = differencesOf(await readAllPackages(db, old), await readAllPackages(db, now));
        return create(ImageComparisonSchema, {
          differences: differences.slice(0, MAX_DIFFERENCES),
          totalCount: BigInt(differences.length),
          isIncomplete: [...old, ...now].some(({ scan }) => scan.state !== "done"),
        });
      }),

      previewDeletion: read(async ({ uid, digest, tag }, { db }) => {
        if (digest !== "" && tag !== "")
          throw invalidArguments(["digest", "tag"].map((field) => ({ field, description: "give at most one of digest and tag" })));
        const removal = await removalOf(db, uid, { digest, tag });
        return previewFrom(removal, await previewRemoval(db, removal, blobReferences));
      }),

      deleteImage: {
        kind: "write",
        async prepare({ uid, digest }, call) {
          await assertManifest(call.db, uid, digest);
          await imageNotFound(digest, untagManifest(digest, deletionOf(uid, call), { store, names }));
        },
        async handle({ uid, digest }, call) {
          await imageNotFound(digest, deleteManifestIn(call.db, digest, deletionOf(uid, call), names));
          return create(EmptySchema);
        },
      },
    },
    "Repo",
  );
}

function deletionOf(repoUid: string, { now, principal, access }: Call<ReadDb>): ApiDeletion {
  return { repoUid, origin: { actor: principal === undefined ? undefined : actorFromPrincipal(principal, access) }, now };
}

/** @throws HoltError NOT_FOUND for an OciError of the deletion */
function imageNotFound<T>(digest: string, deletion: Promise<T>): Promise<T> {
  return deletion.catch((error: unknown) => {
    throw error instanceof OciError ? notFound("Image", digest.slice(0, 200)) : error;
  });
}

function platformOf({ os, architecture, variant, size, manifest_digest, config_digest, layers }: PlatformLayers) {
  return {
    os,
    architecture,
    variant,
    digest: manifest_digest,
    configDigest: config_digest,
    sizeBytes: BigInt(size),
    layers: layers.map((layer) => ({ digest: layer.digest, mediaType: layer.mediaType, sizeBytes: BigInt(layer.size) })),
  };
}

function previewFrom({ tags }: Removal, { manifests, blobCount, freedBytes, isPartial }: RemovedContent): DeletionPreview {
  const referrers = manifests.filter(({ isReferrer }) => isReferrer);
  return create(DeletionPreviewSchema, {
    tags: tags.slice(0, MAX_NAMED),
    tagCount: BigInt(tags.length),
    manifestCount: BigInt(manifests.length),
    referrers: referrers.slice(0, MAX_NAMED).map(({ digest, artifactType }) => ({ digest, artifactType })),
    referrerCount: BigInt(referrers.length),
    blobCount: BigInt(blobCount),
    freedBytes: BigInt(freedBytes),
    isPartial,
  });
}

/** @throws HoltError NOT_FOUND */
async function assertManifest(db: ReadDb, repoUid: string, digest: string): Promise<void> {
  const query = db.selectFrom("manifest").select("digest").where("repo_uid", "=", repoUid).where("digest", "=", digest);
  if (!isDigest(digest) || (await query.executeTakeFirst()) === undefined) throw notFound("Image", digest.slice(0, 200));
}
