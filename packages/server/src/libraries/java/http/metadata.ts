/** Serves `maven-metadata.xml` and its checksums from the database. The versions that clients upload are discarded. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ReadDb } from "../../../db/store.ts";
import { isKnown } from "../../../http/conditional-request.ts";
import { invalidArgument, notFound } from "../../../lib/errors.ts";
import { answer, answerText, type LibraryParts, type LibraryRequest } from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import { findMavenVersions, findPluginFiles, findSnapshotFiles } from "../find-maven.ts";
import {
  artifactMetadata,
  collectNewest,
  groupMetadata,
  type MetadataPart,
  metadataDocument,
  type NewestFile,
  snapshotMetadata,
} from "../maven-metadata.ts";
import { type Algorithm, METADATA, parseMavenArtifact, parseMavenFolder, parseMavenGroup } from "../maven-path.ts";
import { pluginsOf } from "../maven-plugins.ts";
import { isSnapshot } from "../maven-version.ts";
import { attempt } from "./attempt.ts";

const CACHING = { "cache-control": "private, no-cache" };
/** Real files have a few KiB. */
const MAX_METADATA = 1024 * 1024;

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
  if (isKnown(exchange.request, { etags: [headers.etag] })) return answer(exchange, 304, headers);
  answerText(exchange, "application/xml", text, {
    ...headers,
    "x-checksum-sha1": hashOf(text, "sha1"),
    "x-checksum-md5": hashOf(text, "md5"),
  });
}

/** A folder is a snapshot or an artifact. It can be a group at the same time. */
async function metadataAt(db: ReadDb, library: Library, folder: readonly string[]): Promise<string | undefined> {
  const own = (await metadataOfSnapshot(db, library, folder)) ?? (await metadataOfArtifact(db, library, folder));
  const parts = [own, await metadataOfGroup(db, library, folder)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : metadataDocument(parts);
}

async function metadataOfSnapshot(db: ReadDb, library: Library, folder: readonly string[]): Promise<MetadataPart | undefined> {
  const snapshot = isSnapshot(folder.at(-1) ?? "") ? attempt(() => parseMavenFolder(folder)) : undefined;
  if (snapshot === undefined) return undefined;
  const newest = new Map<string, NewestFile>();
  for await (const files of findSnapshotFiles(db, library, snapshot)) collectNewest(newest, snapshot, files);
  return newest.size === 0 ? undefined : snapshotMetadata(snapshot, [...newest.values()]);
}

async function metadataOfArtifact(db: ReadDb, library: Library, folder: readonly string[]): Promise<MetadataPart | undefined> {
  const artifact = attempt(() => parseMavenArtifact(folder));
  const versions = artifact === undefined ? [] : await findMavenVersions(db, library, artifact);
  return artifact === undefined || versions.length === 0 ? undefined : artifactMetadata(artifact, versions);
}

async function metadataOfGroup(db: ReadDb, library: Library, folder: readonly string[]): Promise<MetadataPart | undefined> {
  const groupId = attempt(() => parseMavenGroup(folder));
  const plugins = groupId === undefined ? [] : pluginsOf(await findPluginFiles(db, library, groupId));
  return plugins.length === 0 ? undefined : groupMetadata(plugins);
}

function hashOf(text: string, algorithm: Algorithm): string {
  return createHash(algorithm).update(text).digest("hex");
}

/** Accepts an upload, which every client makes when it publishes, and keeps nothing of it. */
export async function discardMetadata(exchange: LibraryRequest): Promise<void> {
  const size = await exchange.transfer(() => discard(exchange.request));
  if (size > MAX_METADATA) throw invalidArgument(METADATA, `the metadata is larger than ${MAX_METADATA} bytes`);
  answer(exchange, 200);
}

/** Resolves with the number of bytes at the end of the body, or as soon as it is too large. */
function discard(body: Readable): Promise<number> {
  return new Promise((resolve) => {
    let size = 0;
    body.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_METADATA) resolve(size);
    });
    // A client that disconnects needs no answer.
    finished(body, { writable: false }).then(
      () => resolve(size),
      () => resolve(size),
    );
  });
}
