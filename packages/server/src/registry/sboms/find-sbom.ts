/** Finds the SBOM of an image among the manifests that are attached to it in its repo, and reads it on a thread. */
import type { BlobStore } from "../../blobs/store.ts";
import type { ReadDb } from "../../db/store.ts";
import type { Parser, Parsers } from "../../jobs/parsers.ts";
import { notFound } from "../../lib/errors.ts";
import { type BlobFile, findBlob, type RepoBlob, withBlobFile } from "../content/blob-file.ts";
import { MAX_SBOM_BYTES } from "../content/document-sizes.ts";
import { DEFAULT_ARCHITECTURE, findImages, imageFor } from "../content/find-images.ts";
import type { Manifest } from "../content/manifest.ts";
import { manifestParser } from "../content/manifest-parsers.ts";
import { descriptionsOf, findAttestations } from "../packages/descriptions.ts";
import { readingOf } from "../packages/reading-of.ts";
import type { AttachedDocument } from "./read-sbom-document.ts";

/** Documents that are read for one answer. Images have one to three. */
const MAX_DOCUMENTS = 20;

/** An attached document before its file is opened. */
interface FoundDocument extends Omit<AttachedDocument, "file"> {
  readonly blob: RepoBlob;
}

export interface WantedSbom {
  readonly repoUid: string;
  /** Digest of an image or an index. */
  readonly digest: string;
  /** Empty for the SBOM of the digest itself, or of the image for the default architecture. */
  readonly architecture: string;
  /** Digest of the attached manifest or of the document; empty for any. */
  readonly reference: string;
}

export interface SbomCollaborators {
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
}

/**
 * The newest SBOM, as the parser reads it.
 * @throws NOT_FOUND if the repo has no such image or the image has no SBOM; the parser's refusals
 */
export async function readSbomOf<Output>(
  wanted: WantedSbom,
  parser: Parser<AttachedDocument, Output | undefined>,
  db: ReadDb,
  collaborators: SbomCollaborators,
): Promise<Output> {
  let read = 0;
  for await (const document of attachedDocuments(wanted, db, collaborators)) {
    if (++read > MAX_DOCUMENTS) break;
    const { blob, ...about } = document;
    const run = (file: BlobFile) => collaborators.parsers.run(parser, { ...about, file }, wanted.repoUid);
    const found = await withBlobFile(collaborators.blobs, blob, MAX_SBOM_BYTES, run);
    if (found !== undefined) return found;
  }
  throw notFound("Sbom", wanted.digest);
}

async function* attachedDocuments(wanted: WantedSbom, db: ReadDb, collaborators: SbomCollaborators): AsyncGenerator<FoundDocument> {
  const { repoUid, digest, reference } = wanted;
  const descriptions = await descriptionsOf(db, repoUid, digest);
  for (const image of await subjectsOf(wanted, db)) {
    const described = descriptions.filter(({ isSbom, imageDigest }) => isSbom && imageDigest === image).map((each) => each.digest);
    // An image that is requested by its own digest can have attestations in its indexes.
    const attested = digest === image ? await findAttestations(db, repoUid, image) : [];
    for (const attached of new Set([...described, ...attested])) {
      for await (const document of documentsOf(attached, image, repoUid, { db, ...collaborators }))
        if (reference === "" || reference === attached || reference === document.blob.digest) yield document;
    }
  }
}

/** Digests whose SBOM is meant, in the order of preference. @throws NOT_FOUND */
async function subjectsOf({ repoUid, digest, architecture }: WantedSbom, db: ReadDb): Promise<string[]> {
  if (architecture !== "") {
    const image = imageFor(await findImages(db, repoUid, digest), architecture);
    if (image === undefined) throw notFound("Image", digest);
    return [image.manifest_digest];
  }
  const images = await findImages(db, repoUid, digest).catch(() => []);
  const chosen = imageFor(images, DEFAULT_ARCHITECTURE) ?? images[0];
  return [...new Set([digest, ...(chosen === undefined ? [] : [chosen.manifest_digest])])];
}

interface DocumentSources extends SbomCollaborators {
  readonly db: ReadDb;
}

async function* documentsOf(
  attached: string,
  image: string,
  repoUid: string,
  { db, parsers }: DocumentSources,
): AsyncGenerator<FoundDocument> {
  const query = db.selectFrom("manifest").select(["content", "media_type", "create_time"]);
  const row = await query.where("repo_uid", "=", repoUid).where("digest", "=", attached).executeTakeFirst();
  if (row === undefined) return;
  const read = await parsers.run(manifestParser, { content: row.content, contentType: row.media_type }, repoUid);
  for (const digest of "manifest" in read ? documentDigests(read.manifest) : []) {
    const blob = await findBlob(db, repoUid, digest);
    if (blob !== undefined) yield { blob, image, subject: "manifest" in read ? read.manifest.subject : undefined, time: row.create_time };
  }
}

function documentDigests(manifest: Manifest): string[] {
  const reading = readingOf(manifest);
  return reading?.kind === "sbom" ? reading.documents.map(({ digest }) => digest) : [];
}
