/**
 * Stores a pushed manifest in one transaction: its bytes, its references, its tags with history, the facts about the
 * image, and the events. A missing repo is created in the same transaction (create-repo.ts).
 */
import { sql } from "kysely";
import { digestOf, parseDigest } from "../../blobs/digest.ts";
import { type BlobStore, NoSuchBlob } from "../../blobs/store.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";
import { OciError } from "../oci-error.ts";
import { readingOf } from "../packages/reading-of.ts";
import { appendScan } from "../packages/scan-queue.ts";
import { findBlobSize } from "./blob-file.ts";
import { MAX_CONFIG_BYTES } from "./config-platform.ts";
import { type PushRepo, repoUidOf } from "./create-repo.ts";
import { NO_FACTS, readDocumentFacts, recordDocumentFacts } from "./document-facts.ts";
import { recordImageFacts, type StoredImage } from "./image-facts.ts";
import { spreadFacts } from "./image-facts-queue.ts";
import { blobsOf, type Descriptor, isManifestType, type Manifest, type Platform } from "./manifest.ts";
import { configParser, manifestParser } from "./manifest-parsers.ts";
import { appendPushes, appendTagCreated, type Origin, type Push, type RegistryNames } from "./oci-events.ts";
import { upsertTag } from "./tags.ts";

export interface ManifestPush {
  readonly repo: PushRepo;
  /** A tag, or the digest that the content must have. */
  readonly reference: string;
  /** Further tags of a manifest that is pushed by its digest, without duplicates. */
  readonly tags?: readonly string[];
  readonly content: Uint8Array;
  readonly contentType: string | undefined;
  readonly origin: Origin;
  readonly now: Date;
}

export interface PushedManifest {
  readonly digest: string;
  readonly subject: string | undefined;
}

export interface PushOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly names: RegistryNames;
  readonly parsers: Parsers;
  /** Called after the commit if there may be a manifest whose packages are to be read. Must not throw. */
  readonly onManifest: () => void;
}

/** @throws OciError MANIFEST_INVALID, MANIFEST_BLOB_UNKNOWN, DIGEST_INVALID, NAME_UNKNOWN */
export async function pushManifest(push: ManifestPush, options: PushOptions): Promise<PushedManifest> {
  const pushed = await tryPush(push, options);
  return "repoUid" in pushed ? pushManifest({ ...push, repo: pushed.repoUid }, options) : pushed;
}

/** @returns the uid of the repo, without storing anything, if another push created the repo: its config is to be read first */
async function tryPush(push: ManifestPush, options: PushOptions): Promise<PushedManifest | { readonly repoUid: string }> {
  const { store, blobs, names, onManifest } = options;
  const { reference, content } = push;
  const manifest = await readManifest(push, options);
  const wanted = parseDigest(reference);
  const digest = digestOf(content, wanted?.algorithm);
  if (wanted !== undefined && digest !== reference) throw new OciError("DIGEST_INVALID", `the manifest has the digest ${digest}`);
  const tags = wanted === undefined ? [reference] : (push.tags ?? []);
  // A repo that is about to be created has no blobs.
  const platform = typeof push.repo === "string" ? await readPlatform(manifest, push.repo, push.origin, options) : undefined;
  const facts = typeof push.repo === "string" ? await readDocumentFacts(manifest, push.repo, { ...options, db: store.reader }) : NO_FACTS;
  if (typeof push.repo === "string") await assertHasBytes(manifest, push.repo, store, blobs);

  return store.transaction(async (db) => {
    const repoUid = await repoUidOf(push.repo, db);
    // The lock serializes pushes into a repo: the repo cannot be deleted, and no other push can create the same tag.
    const repo = await db.dialect.forUpdate(db.selectFrom("repo").select("name").where("uid", "=", repoUid)).executeTakeFirst();
    if (repo === undefined) throw new OciError("NAME_UNKNOWN", "the repository was deleted");
    await assertHasBlobs(db, repoUid, manifest);
    // A repo that has just been created has no blob.
    if (typeof push.repo !== "string" && manifest.config !== undefined) return { repoUid };
    await storeManifest(db, push, { repoUid, digest, manifest, platform });
    await recordDocumentFacts(db, { repoUid, digest }, facts, push.now);
    db.afterCommit(onManifest);
    await moveTags(db, { push, repo: { uid: repoUid, name: repo.name }, tags, digest, mediaType: manifest.mediaType }, names);
    return { digest, subject: manifest.subject };
  });
}

interface TagMoves {
  readonly push: ManifestPush;
  readonly repo: { readonly uid: string; readonly name: string };
  readonly tags: readonly string[];
  readonly digest: string;
  readonly mediaType: string;
}

/** Points the tags to the manifest. Each tag has a push event of its own, as if it had been pushed alone. */
async function moveTags(db: WriteDb, { push, repo, tags, digest, mediaType }: TagMoves, names: RegistryNames): Promise<void> {
  const { origin, now } = push;
  const pushed = { repoUid: repo.uid, repoName: repo.name, digest, mediaType, origin, now };
  const pushes: Push[] = tags.length === 0 ? [{ ...pushed, tag: undefined, previousDigest: undefined }] : [];
  for (const name of tags) {
    const { tag, previous, changed } = await upsertTag(db, { repoUid: repo.uid, name, digest, now, actor: origin.actor.subject });
    if (changed) await appendTagCreated(db, { tag, origin, now }, names);
    pushes.push({ ...pushed, tag: name, previousDigest: previous });
  }
  await appendPushes(db, pushes, names);
}

async function readManifest({ content, contentType, origin }: ManifestPush, { parsers }: PushOptions): Promise<Manifest> {
  const read = await parsers.run(manifestParser, { content, contentType }, origin.actor.subject).catch((error: unknown) => {
    const isRefused = error instanceof HoltError && error.code === Code.INVALID_ARGUMENT;
    throw isRefused ? new OciError("MANIFEST_INVALID", error.message) : error;
  });
  if ("problem" in read) throw new OciError("MANIFEST_INVALID", read.problem);
  return read.manifest;
}

/** Reads the config's blob. Runs before the transaction, as transactions do no file I/O. */
async function readPlatform(
  { config }: Manifest,
  repoUid: string,
  origin: Origin,
  { store, blobs, parsers }: PushOptions,
): Promise<Platform | undefined> {
  if (config === undefined || config.size > MAX_CONFIG_BYTES) return undefined;
  const size = await findBlobSize(store.reader, repoUid, config.digest);
  if (size === undefined || size === 0 || size > MAX_CONFIG_BYTES) return undefined;
  const chunks: Buffer[] = [];
  try {
    // The file may be longer than the blob.
    for await (const chunk of await blobs.read(config.digest, { start: 0, end: size - 1 })) chunks.push(chunk as Buffer);
  } catch (error) {
    throw error instanceof NoSuchBlob ? blobUnknown(config.digest) : error;
  }
  return parsers.run(configParser, Buffer.concat(chunks), origin.actor.subject);
}

/** Checks that no blob of the manifest has lost its bytes. Blobs that the repo does not link are found later. */
async function assertHasBytes(manifest: Manifest, repoUid: string, store: Store, blobs: BlobStore): Promise<void> {
  const sizes = await linkedBlobs(store.reader, repoUid, manifest).execute();
  for (const { digest, size } of sizes) if (await blobs.hasLost(digest, size)) throw blobUnknown(digest);
}

/**
 * Checks that the repo has the blobs of a manifest. The manifests of an index may be missing ("sparse" indexes, OCI
 * image specification, image-index.md). Locks the links, so that collection cannot delete them before the manifest
 * refers to them.
 */
async function assertHasBlobs(db: WriteDb, repoUid: string, manifest: Manifest): Promise<void> {
  const query = linkedBlobs(db, repoUid, manifest);
  const sizes = new Map((await db.dialect.forKeyShare(query).execute()).map(({ digest, size }) => [digest, size]));
  for (const { digest, size, isForeign } of blobsOf(manifest)) {
    const stored = sizes.get(digest);
    if (stored === undefined && !isForeign) throw blobUnknown(digest);
    if (stored !== undefined && stored !== size)
      throw new OciError("MANIFEST_INVALID", `the manifest says that ${digest} has ${size} bytes, but the blob has ${stored}`, { digest });
  }
}

/** Selects the manifest's blobs that the repo links, with their recorded sizes. */
function linkedBlobs(db: ReadDb, repoUid: string, manifest: Manifest) {
  const digests = blobsOf(manifest).map(({ digest }) => digest);
  return db
    .selectFrom("repo_blob as l")
    .innerJoin("blob as b", "b.digest", "l.digest")
    .select(["l.digest as digest", "b.size as size"])
    .where("l.repo_uid", "=", repoUid)
    .where("l.digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"));
}

function blobUnknown(digest: string): OciError {
  return new OciError("MANIFEST_BLOB_UNKNOWN", `the manifest needs the blob ${digest}, which this repository does not have`, { digest });
}

async function storeManifest(db: WriteDb, { content, now }: ManifestPush, stored: StoredImage): Promise<void> {
  const { repoUid, digest, manifest } = stored;
  const time = now.toISOString();
  const { numUpdatedRows } = await db
    .updateTable("manifest")
    .set({ touch_time: time, media_type: manifest.mediaType })
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .executeTakeFirstOrThrow();
  // The same bytes have the same references, which are stored already.
  if (numUpdatedRows > 0n) return;
  await db
    .insertInto("manifest")
    .values({
      repo_uid: repoUid,
      digest,
      media_type: manifest.mediaType,
      artifact_type: manifest.artifactType ?? null,
      subject: manifest.subject ?? null,
      size: content.length,
      create_time: time,
      touch_time: time,
      annotations: manifest.annotations === undefined ? null : JSON.stringify(manifest.annotations),
      content,
    })
    .execute();
  const references = referencesOf(manifest);
  for (const kind of ["blob", "manifest"] as const) await insertReferences(db, stored, kind, references.get(kind) ?? []);
  await recordImageFacts(db, stored);
  await spreadFacts(db, repoUid, digest, now);
  if (readingOf(manifest) !== undefined) await appendScan(db, digest, rootOf(repoUid), now);
}

type ReferenceKind = "blob" | "manifest";

async function insertReferences(db: WriteDb, stored: StoredImage, kind: ReferenceKind, digests: readonly string[]): Promise<void> {
  if (digests.length === 0) return;
  const { repoUid, digest } = stored;
  await db
    .insertInto("manifest_reference")
    .columns(["repo_uid", "manifest_digest", "digest", "kind"])
    .expression((eb) =>
      eb
        .selectFrom(["manifest as m", db.dialect.valuesOf(digests).as("v")])
        .select(["m.repo_uid", "m.digest as manifest_digest", "v.value as digest", sql.lit(kind).as("kind")])
        .where("m.repo_uid", "=", repoUid)
        .where("m.digest", "=", digest),
    )
    .execute();
}

/** By kind and without duplicates. An index may also refer to blobs: some builders store their caches that way. */
function referencesOf(manifest: Manifest): ReadonlyMap<ReferenceKind, readonly string[]> {
  const kinds = new Map<string, ReferenceKind>();
  const add = ({ digest }: Descriptor, kind: ReferenceKind) => kinds.set(digest, kind);
  for (const blob of blobsOf(manifest)) add(blob, "blob");
  for (const child of manifest.children) add(child, isManifestType(child.mediaType) ? "manifest" : "blob");
  return Map.groupBy(kinds.keys(), (digest) => kinds.get(digest) ?? "blob");
}
