/** The packages of several images in version 1 of the API. Version 2 has none; `holt.v1` lists those of one image in pages. */
import { create } from "@bufbuild/protobuf";
import {
  type ManifestMetadata,
  type ManifestMetadataFilterEntry,
  ManifestMetadataListSchema,
  ManifestMetadataSchema,
  type PkgMetadata,
  PkgMetadataSchema,
  type Registry,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import { isDigest } from "../../../blobs/digest.ts";
import type { ReadDb } from "../../../db/store.ts";
import { Code, HoltError, invalidArgument, resourceExhausted } from "../../../lib/errors.ts";
import { findImage } from "../../content/find-images.ts";
import { findDescriptions } from "../../packages/descriptions.ts";
import { listPackages } from "../../packages/list-packages.ts";
import { originUrlOf } from "../../packages/package-url.ts";

const MAX_ITEMS = 100;
/** Limit for all images of a request together. */
const MAX_PACKAGES = 20_000;

export const manifestMetadata = {
  listManifestMetadata: read(async ({ repoId, items }, { db }) => {
    if (items.length > MAX_ITEMS) throw invalidArgument("items", `there must be at most ${MAX_ITEMS} items`);
    const found: ManifestMetadata[] = [];
    let left = MAX_PACKAGES;
    for (const item of items) {
      const image = await resolveItem(item, repoId, db);
      const packages = image === undefined ? undefined : await readPackages(repoId, image, db, left + 1);
      if (image === undefined || packages === undefined) continue;
      left -= packages.length;
      if (left < 0) throw tooMany();
      found.push(create(ManifestMetadataSchema, { digest: image, pkgMetadata: packages }));
    }
    return create(ManifestMetadataListSchema, { items: found });
  }),
} satisfies Handlers<typeof Registry>;

function tooMany(): Error {
  return resourceExhausted(
    `the images have more than ${MAX_PACKAGES} packages; request fewer, or list those of each with holt.v1.ImagePackagesService`,
  );
}

/** The digest of an image; undefined if the repo has no such image. */
async function resolveItem({ filter }: ManifestMetadataFilterEntry, repoUid: string, db: ReadDb): Promise<string | undefined> {
  if (filter.case === undefined) return undefined;
  if (filter.case === "imageDigest") return isDigest(filter.value) ? filter.value : undefined;
  try {
    return (await findImage(db, repoUid, filter.value.digest, filter.value.arch)).manifest_digest;
  } catch (error) {
    if (error instanceof HoltError && error.code === Code.NOT_FOUND) return undefined;
    throw error;
  }
}

async function readPackages(repoUid: string, digest: string, db: ReadDb, limit: number): Promise<PkgMetadata[] | undefined> {
  const descriptions = await findDescriptions(db, repoUid, digest);
  if (descriptions === undefined) return undefined;
  const packages = await listPackages(db, descriptions, undefined, limit);
  return packages.map(({ purl, origin }) => create(PkgMetadataSchema, { purl, originPurl: originUrlOf(purl, origin) }));
}
