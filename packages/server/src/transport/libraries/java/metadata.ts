/** `maven-metadata.xml` and its checksums: made of what is published, so what clients send of it is read over. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ReadDb } from "../../../db/store.ts";
import { Code, HoltError, notFound } from "../../../lib/errors.ts";
import { findMavenVersions, findSnapshotFiles } from "../../../libraries/find-maven.ts";
import type { Library } from "../../../libraries/library.ts";
import { artifactMetadata, snapshotMetadata } from "../../../libraries/maven-metadata.ts";
import { type Algorithm, parseMavenArtifact, parseMavenFolder } from "../../../libraries/maven-path.ts";
import { isSnapshot } from "../../../libraries/maven-version.ts";
import { isKnown } from "../../send-blob.ts";
import { answer, answerText, type LibraryParts, type LibraryRequest } from "../library-request.ts";

const CACHING = { "cache-control": "private, no-cache", "x-content-type-options": "nosniff" };

export async function sendMetadata(
  exchange: LibraryRequest,
  library: Library,
  algorithm: Algorithm | undefined,
  { store }: LibraryParts,
): Promise<void> {
  const text = await metadataAt(store.reader, library, exchange.path.slice(0, -1));
  if (text === undefined) throw notFound("Metadata", exchange.path.join("/").slice(0, 300));
  if (algorithm !== undefined) return answerText(exchange, "text/plain", hashOf(text, algorithm), CACHING);
  const etag = hashOf(text, "sha256");
  const headers = { ...CACHING, etag: `"${etag}"` };
  if (isKnown(exchange.request, etag)) return answer(exchange, 304, headers);
  answerText(exchange, "application/xml", text, {
    ...headers,
    "x-checksum-sha1": hashOf(text, "sha1"),
    "x-checksum-md5": hashOf(text, "md5"),
  });
}

/** Of a snapshot, or else of an artifact. */
async function metadataAt(db: ReadDb, library: Library, folder: readonly string[]): Promise<string | undefined> {
  try {
    if (isSnapshot(folder.at(-1) ?? "") && folder.length >= 3) {
      const snapshot = parseMavenFolder(folder);
      const files = await findSnapshotFiles(db, library, snapshot);
      if (files.length > 0) return snapshotMetadata(snapshot, files);
    }
    const artifact = parseMavenArtifact(folder);
    const versions = await findMavenVersions(db, library, artifact);
    return versions.length === 0 ? undefined : artifactMetadata(artifact, versions);
  } catch (error) {
    // Where no artifact can be.
    if (error instanceof HoltError && error.code === Code.INVALID_ARGUMENT) return undefined;
    throw error;
  }
}

function hashOf(text: string, algorithm: Algorithm): string {
  return createHash(algorithm).update(text).digest("hex");
}

/** Accepted, since no client publishes without; nothing of it is kept. */
export async function takeMetadata(exchange: LibraryRequest): Promise<void> {
  const body: Readable = exchange.request;
  body.resume();
  // A client that leaves in the middle waits for no answer.
  await finished(body, { writable: false }).catch(() => {});
  answer(exchange, 200);
}
