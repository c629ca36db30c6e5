/** Images: facts that the server learned about the digests in a repo when they were pushed. Read-only. */
import { create } from "@bufbuild/protobuf";
import { ArchitecturesSchema, ImagesService, SizeSchema } from "@holt/api/gen/platform/registry/v2/images_pb.ts";
import { implement, read } from "../../api/call/implement.ts";
import { isDigest } from "../../blobs/digest.ts";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";

const DEFAULT_ARCHITECTURE = "amd64";

export const imagesService = implement(ImagesService, {
  getArchitectures: read(async ({ repoUid, digest }, { db }) => {
    const images = await imagesOf(repoUid, digest, db);
    return create(ArchitecturesSchema, { architectures: [...new Set(images.map(({ architecture }) => architecture))] });
  }),

  getSize: read(async ({ repoUid, digest, architecture: wanted }, { db }) => {
    const architecture = wanted === "" ? DEFAULT_ARCHITECTURE : wanted;
    const ofArchitecture = (await imagesOf(repoUid, digest, db)).filter((image) => image.architecture === architecture);
    // An index may have one architecture for several systems and in several variants; most machines run Linux.
    const image = ofArchitecture.find(({ os }) => os === "linux") ?? ofArchitecture[0];
    if (image === undefined) throw notFound("Image", digest);
    return create(SizeSchema, { size: BigInt(image.size), architecture });
  }),
});

/** The images of the digest, ordered by architecture, system and variant. @throws NOT_FOUND if the digest has none */
async function imagesOf(repoUid: string, digest: string, db: ReadDb): Promise<{ architecture: string; os: string; size: number }[]> {
  if (!isDigest(digest)) throw notFound("Image", digest.slice(0, 200));
  const images = await db
    .selectFrom("image")
    .select(["architecture", "os", "size"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .orderBy("architecture")
    .orderBy("os")
    .orderBy("variant")
    .execute();
  if (images.length === 0) throw notFound("Image", digest);
  return images;
}
