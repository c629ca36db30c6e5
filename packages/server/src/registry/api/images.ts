/** Images: facts that the server learned about the digests in a repo when they were pushed. Read-only. */
import { create } from "@bufbuild/protobuf";
import { ArchitecturesSchema, ImagesService, SizeSchema } from "@holt/api/gen/platform/registry/v2/images_pb.ts";
import { implement, read } from "../../api/call/implement.ts";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { DEFAULT_ARCHITECTURE, findImages, imageFor } from "../content/find-images.ts";

export const imagesService = implement(ImagesService, {
  getArchitectures: read(async ({ repoUid, digest }, { db }) =>
    create(ArchitecturesSchema, { architectures: await findArchitectures(db, repoUid, digest) }),
  ),
  getSize: read(async ({ repoUid, digest, architecture }, { db }) =>
    create(SizeSchema, await findSize(db, repoUid, digest, architecture || DEFAULT_ARCHITECTURE)),
  ),
});

/** Each architecture once, in order. @throws NOT_FOUND */
export async function findArchitectures(db: ReadDb, repoUid: string, digest: string): Promise<string[]> {
  const images = await findImages(db, repoUid, digest);
  return [...new Set(images.map(({ architecture }) => architecture))];
}

/** @throws NOT_FOUND */
export async function findSize(
  db: ReadDb,
  repoUid: string,
  digest: string,
  architecture: string,
): Promise<{ readonly size: bigint; readonly architecture: string }> {
  const image = imageFor(await findImages(db, repoUid, digest), architecture);
  if (image === undefined) throw notFound("Image", digest);
  return { size: BigInt(image.size), architecture };
}
