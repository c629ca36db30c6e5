/** Finds the images of a digest, and the one for an architecture. */
import { isDigest } from "../../blobs/digest.ts";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import type { ImageTable } from "../tables.ts";

export const DEFAULT_ARCHITECTURE = "amd64";

export type FoundImage = Omit<ImageTable, "repo_uid" | "digest">;

/** The columns of a `FoundImage`. */
export const IMAGE_COLUMNS = ["architecture", "os", "variant", "size", "manifest_digest", "config_digest"] as const;

/** The images of the digest, ordered by architecture, system and variant. @throws NOT_FOUND if the digest has none */
export async function findImages(db: ReadDb, repoUid: string, digest: string): Promise<FoundImage[]> {
  if (!isDigest(digest)) throw notFound("Image", digest.slice(0, 200));
  const images = await db
    .selectFrom("image")
    .select(IMAGE_COLUMNS)
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .orderBy("architecture")
    .orderBy("os")
    .orderBy("variant")
    .execute();
  if (images.length === 0) throw notFound("Image", digest);
  return images;
}

/**
 * The image for an architecture. An index may have an architecture for several systems and in several variants; most
 * machines run Linux.
 */
export function imageFor<Image extends Pick<FoundImage, "architecture" | "os">>(
  images: readonly Image[],
  architecture: string,
): Image | undefined {
  const some = images.filter((image) => image.architecture === architecture);
  return some.find(({ os }) => os === "linux") ?? some[0];
}

/**
 * The image that a request means: the one for its architecture, or without one the image for the default architecture,
 * or the first.
 * @throws NOT_FOUND
 */
export async function findImage(db: ReadDb, repoUid: string, digest: string, architecture: string): Promise<FoundImage> {
  const images = await findImages(db, repoUid, digest);
  const image = architecture === "" ? (imageFor(images, DEFAULT_ARCHITECTURE) ?? images[0]) : imageFor(images, architecture);
  if (image === undefined) throw notFound("Image", digest);
  return image;
}
