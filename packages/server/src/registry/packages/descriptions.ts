/**
 * Finds the manifests that describe the content of an image. These are the image itself, and in the same repo its
 * referrers, cosign's SBOM tags, and attestations in its index. Documents that other repos attach to the same image do not
 * count.
 */
import { sql } from "kysely";
import { isDigest } from "../../blobs/digest.ts";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { assertFewImages, MAX_IMAGES_OF_INDEX, platformName } from "../../lib/image-platform.ts";
import type { ImageScanTable } from "../tables.ts";

export interface ImageDescription {
  /** Digest of the manifest that is read. */
  readonly digest: string;
  /** Digest of the described image, or of the index to which an SBOM is attached. */
  readonly imageDigest: string;
  /** Such as `linux/arm/v7`; empty if the image's config does not say. */
  readonly platform: string;
  readonly isSbom: boolean;
  readonly scan: Omit<ImageScanTable, "digest" | "attempts" | "lease_holder" | "lease_time">;
}

/** The newest are used. */
const MAX_SBOMS = 50;

/** As `findDescriptions`. @throws NOT_FOUND for a malformed digest, or if the repo does not have the manifest */
export async function descriptionsOf(db: ReadDb, repoUid: string, digest: string): Promise<ImageDescription[]> {
  const found = isDigest(digest) ? await findDescriptions(db, repoUid, digest) : undefined;
  if (found === undefined) throw notFound("Image", digest.slice(0, 200));
  return found;
}

/** Images first; undefined if the repo does not have the manifest. */
export async function findDescriptions(db: ReadDb, repoUid: string, digest: string): Promise<ImageDescription[] | undefined> {
  const query = db.selectFrom("manifest").select("content").where("repo_uid", "=", repoUid).where("digest", "=", digest);
  const manifest = await query.executeTakeFirst();
  if (manifest === undefined) return undefined;
  const platforms = await readPlatforms(db, repoUid, digest);
  const attested = attestationsIn(manifest.content);
  // The attestations in an index describe its images.
  const images = platforms.size === 0 ? new Map([[digest, ""]]) : platforms;
  const about = new Map([...(await findAttached(db, repoUid, [...new Set([digest, ...images.keys()])])), ...attested]);
  const wanted = [...images.keys(), ...[...about.keys()].filter((each) => !images.has(each))];
  const scans = await readScans(db, repoUid, wanted);
  return wanted.flatMap((each) => {
    const scan = scans.get(each);
    const imageDigest = about.get(each) ?? each;
    const isSbom = about.has(each);
    return scan === undefined ? [] : [{ digest: each, imageDigest, platform: images.get(imageDigest) ?? "", isSbom, scan }];
  });
}

/** From the digest of each image below a manifest to its platform. */
async function readPlatforms(db: ReadDb, repoUid: string, digest: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom("image")
    .select(["manifest_digest", "os", "architecture", "variant"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .orderBy("architecture")
    .orderBy("os")
    .orderBy("variant")
    .limit(MAX_IMAGES_OF_INDEX + 1)
    .execute();
  assertFewImages(rows);
  return new Map(rows.map((row) => [row.manifest_digest, platformName(row)]));
}

/** Pairs of an SBOM's digest and the digest that it is attached to. */
async function findAttached(db: ReadDb, repoUid: string, subjects: readonly string[]): Promise<[digest: string, subject: string][]> {
  const referrers = await db
    .selectFrom("manifest as m")
    .innerJoin("image_scan as s", "s.digest", "m.digest")
    .select(["m.digest as digest", sql<string>`m.subject`.as("subject")])
    .where("m.repo_uid", "=", repoUid)
    .where("m.subject", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(subjects).as("v")).select("v.value"))
    .orderBy("m.create_time", "desc")
    .limit(MAX_SBOMS)
    .execute();
  const subjectOf = new Map(
    subjects.flatMap((subject) => ["sbom", "att"].map((suffix) => [`${subject.replace(":", "-")}.${suffix}`, subject])),
  );
  const tags = await db
    .selectFrom("tag")
    .select(["name", "digest"])
    .where("parent", "=", repoUid)
    .where("name", "in", (eb) => eb.selectFrom(db.dialect.valuesOf([...subjectOf.keys()]).as("v")).select("v.value"))
    .execute();
  return [
    ...tags.map(({ name, digest }): [string, string] => [digest, subjectOf.get(name) ?? ""]),
    ...referrers.map(({ digest, subject }): [string, string] => [digest, subject]),
  ];
}

const MAX_INDEXES = 20;
/** Real indexes have a few KiB. Parsing larger ones would hold up other requests. */
const MAX_INDEX_BYTES = 1024 * 1024;

/** Digests of the attestations of an image in the indexes that contain it. Large indexes are skipped. */
export async function findAttestations(db: ReadDb, repoUid: string, image: string): Promise<string[]> {
  const indexes = await db
    .selectFrom("manifest_reference as r")
    .innerJoin("manifest as m", (join) => join.onRef("m.repo_uid", "=", "r.repo_uid").onRef("m.digest", "=", "r.manifest_digest"))
    .select("m.content")
    .where("r.repo_uid", "=", repoUid)
    .where("r.digest", "=", image)
    .where("r.kind", "=", "manifest")
    .where("m.size", "<=", MAX_INDEX_BYTES)
    .orderBy("r.manifest_digest")
    .limit(MAX_INDEXES)
    .execute();
  const found = indexes.flatMap(({ content }) => attestationsIn(content));
  return [...new Set(found.filter(([, subject]) => subject === image).map(([digest]) => digest))];
}

/** Attestations as BuildKit stores them: entries of the index whose annotations name another entry. */
function attestationsIn(content: Uint8Array): [digest: string, subject: string][] {
  const { manifests } = JSON.parse(Buffer.from(content).toString("utf8")) as { manifests?: readonly ImageIndexEntry[] };
  const found = (manifests ?? []).flatMap(({ digest, annotations }): [string, string][] => {
    const subject = annotations?.["vnd.docker.reference.digest"];
    return typeof subject === "string" && isDigest(subject) ? [[digest, subject]] : [];
  });
  return found.slice(0, MAX_IMAGES_OF_INDEX);
}

interface ImageIndexEntry {
  readonly digest: string;
  /** A push does not check them. */
  readonly annotations?: Readonly<Record<string, unknown>> | null;
}

/** Only of manifests that the repo has. */
async function readScans(db: ReadDb, repoUid: string, digests: readonly string[]): Promise<Map<string, ImageDescription["scan"]>> {
  const rows = await db
    .selectFrom("image_scan as s")
    .innerJoin("manifest as m", (join) => join.onRef("m.digest", "=", "s.digest").on("m.repo_uid", "=", repoUid))
    .select(["s.digest as digest", "s.state as state", "s.read_time as read_time", "s.distribution as distribution"])
    .select(["s.error as error", "s.package_count as package_count"])
    .where("s.digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("v")).select("v.value"))
    .execute();
  return new Map(rows.map(({ digest, ...scan }) => [digest, scan]));
}
