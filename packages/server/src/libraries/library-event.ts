/** What subscribers are told of libraries: files that are published and taken back, versions that are yanked. */
import { type Ecosystem, EcosystemSchema } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { WriteDb } from "../db/store.ts";
import { appendPlainEvents, type EventedCall, type EventNames } from "../outbox/outbox.ts";

/** Who does it, and from where. */
export interface LibraryOrigin {
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly actor: NonNullable<EventedCall["actor"]>;
}

/** Who changes a library, when, and under which names that is told. */
export interface LibraryChange {
  readonly origin: LibraryOrigin;
  readonly now: Date;
  readonly names: EventNames;
}

export interface ChangedArtifact {
  readonly groupUid: string;
  readonly artifactUid: string;
  readonly ecosystem: Ecosystem;
  readonly name: string;
}

export interface ChangedFile {
  readonly version: string;
  readonly path: string;
  /** `sha256:<hex>`. */
  readonly digest: string;
  readonly size: number;
}

/** Of one statement, whose parameters are bounded. */
const MAX_EVENTS = 500;

export function appendPublished(db: WriteDb, artifact: ChangedArtifact, file: ChangedFile, change: LibraryChange): Promise<void> {
  return append(db, "libraries.push.v1", artifact, [tellOf(file)], change);
}

/** One event for each file, as each was published with one. */
export function appendDeleted(db: WriteDb, artifact: ChangedArtifact, files: readonly ChangedFile[], change: LibraryChange): Promise<void> {
  return append(db, "libraries.delete.v1", artifact, files.map(tellOf), change);
}

export function appendYanked(
  db: WriteDb,
  artifact: ChangedArtifact,
  version: string,
  reason: string | undefined,
  change: LibraryChange,
): Promise<void> {
  if (reason === undefined) return append(db, "libraries.unyank.v1", artifact, [{ version }], change);
  return append(db, "libraries.yank.v1", artifact, [{ version, reason }], change);
}

function tellOf({ version, path, digest, size }: ChangedFile): object {
  return { version, file: path, digest, size };
}

async function append(
  db: WriteDb,
  type: string,
  { groupUid, artifactUid, ecosystem, name }: ChangedArtifact,
  details: readonly object[],
  { origin, now, names }: LibraryChange,
): Promise<void> {
  const about = { ecosystem: EcosystemSchema.value[ecosystem]?.name, artifact_id: artifactUid, name };
  const from = { when: now.toISOString(), remote_address: origin.remoteAddress, user_agent: origin.userAgent };
  const { actor } = origin;
  const common = { type, source: `${names.baseUrl}/libraries`, subject: artifactUid, group: groupUid, extensions: {}, actor, now };
  const events = details.map((detail) => ({ ...common, body: { ...about, ...detail, ...from } }));
  for (let start = 0; start < events.length; start += MAX_EVENTS)
    await appendPlainEvents(db, events.slice(start, start + MAX_EVENTS), names);
}
