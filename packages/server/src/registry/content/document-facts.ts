/**
 * Reads what the documents of a pushed manifest state, before the transaction that stores it: builds in provenance, and
 * images in charts. Lists answer these facts; everything else is read from the blobs on demand.
 */

import type { BlobStore } from "../../blobs/store.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { buildParser } from "../builds/build-parser.ts";
import { recordBuilds } from "../builds/build-reports.ts";
import { type FoundBuild, MAX_DOCUMENT_BYTES } from "../builds/read-builds.ts";
import type { ChartImage } from "../charts/chart-images.ts";
import { chartParser } from "../charts/chart-parser.ts";
import { chartArchiveOf, recordChartImages } from "../charts/find-charts.ts";
import { readingOf } from "../packages/reading-of.ts";
import { type BlobFile, findBlob, type RepoBlob, withBlobFile } from "./blob-file.ts";
import { MAX_CHART_BYTES } from "./document-sizes.ts";
import type { Manifest } from "./manifest.ts";

/** Documents of a manifest that are read. Real ones have up to four. */
const MAX_DOCUMENTS = 8;
const STATEMENT = /in-toto|dsse|sigstore/;

export interface DocumentFacts {
  readonly builds: readonly FoundBuild[];
  readonly chartImages: readonly ChartImage[];
}

export const NO_FACTS: DocumentFacts = { builds: [], chartImages: [] };

export interface PushedManifestSources {
  readonly db: ReadDb;
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
}

/** Documents that cannot be read state nothing. */
export async function readDocumentFacts(manifest: Manifest, repoUid: string, sources: PushedManifestSources): Promise<DocumentFacts> {
  return {
    builds: (await unlessRefused(readBuilds(manifest, repoUid, sources))) ?? [],
    chartImages: (await unlessRefused(readChartImages(manifest, repoUid, sources))) ?? [],
  };
}

async function readBuilds(manifest: Manifest, repoUid: string, { db, blobs, parsers }: PushedManifestSources) {
  const reading = readingOf(manifest);
  const statements = reading?.kind === "sbom" ? manifest.layers.filter(({ mediaType }) => STATEMENT.test(mediaType)) : [];
  const found: (RepoBlob & { mediaType: string })[] = [];
  for (const { digest, mediaType } of statements.slice(0, MAX_DOCUMENTS)) {
    const blob = await findBlob(db, repoUid, digest);
    if (blob !== undefined && blob.size <= MAX_DOCUMENT_BYTES) found.push({ ...blob, mediaType: mediaType.slice(0, 255) });
  }
  if (found.length === 0) return [];
  return withFiles(blobs, found, (files) => parsers.run(buildParser, { files, subject: manifest.subject }, repoUid));
}

async function readChartImages(manifest: Manifest, repoUid: string, { db, blobs, parsers }: PushedManifestSources) {
  const archive = chartArchiveOf(manifest);
  const blob = archive && (await findBlob(db, repoUid, archive.digest));
  if (blob === undefined) return [];
  return (await withBlobFile(blobs, blob, MAX_CHART_BYTES, (file) => parsers.run(chartParser, file, repoUid))).images;
}

/** Calls `work` with the files of all blobs. */
function withFiles<Blob extends RepoBlob, T>(
  blobs: BlobStore,
  found: readonly Blob[],
  work: (files: readonly (Blob & BlobFile)[]) => Promise<T>,
): Promise<T> {
  const [blob, ...rest] = found;
  if (blob === undefined) return work([]);
  return withBlobFile(blobs, blob, MAX_DOCUMENT_BYTES, (file) => withFiles(blobs, rest, (files) => work([{ ...blob, ...file }, ...files])));
}

const REFUSALS: readonly Code[] = [Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION, Code.NOT_FOUND];

/** A registry stores what clients push, readable or not. */
async function unlessRefused<Result>(result: Promise<Result>): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof HoltError && REFUSALS.includes(error.code)) return undefined;
    throw error;
  }
}

/** Adds the facts to a manifest that is stored. */
export async function recordDocumentFacts(
  db: WriteDb,
  manifest: { readonly repoUid: string; readonly digest: string },
  { builds, chartImages }: DocumentFacts,
  now: Date,
): Promise<void> {
  await recordBuilds(db, manifest, builds, now);
  await recordChartImages(db, manifest, chartImages);
}
