/** The events of libraries: files that are published or deleted, versions that are yanked or unyanked. */
import { type Ecosystem, EcosystemSchema } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { WriteDb } from "../db/store.ts";
import { appendPlainEvents, type EventedCall, type EventNames } from "../outbox/outbox.ts";

/** The identity that makes a change, and its address. */
export interface LibraryOrigin {
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly actor: NonNullable<EventedCall["actor"]>;
}

/** The origin and the time of a change, and the names that its event carries. */
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

/** Events per statement: the number of parameters of a statement is limited. */
const MAX_EVENTS_PER_STATEMENT = 500;

export function appendPublished(db: WriteDb, artifact: ChangedArtifact, file: ChangedFile, change: LibraryChange): Promise<void> {
  return append(db, artifact, { type: "libraries.push.v1", details: [fileDetails(file)] }, change);
}

/** Records that attestations were added to a file that was published before. */
export function appendAttested(db: WriteDb, artifact: ChangedArtifact, file: ChangedFile, change: LibraryChange): Promise<void> {
  return append(db, artifact, { type: "libraries.attest.v1", details: [fileDetails(file)] }, change);
}

/** One event per file, like publishing. */
export function appendDeleted(db: WriteDb, artifact: ChangedArtifact, files: readonly ChangedFile[], change: LibraryChange): Promise<void> {
  return append(db, artifact, { type: "libraries.delete.v1", details: files.map(fileDetails) }, change);
}

/** Records that a version was yanked, or unyanked if `reason` is undefined. */
export function appendYanked(
  db: WriteDb,
  artifact: ChangedArtifact,
  { version, reason }: { readonly version: string; readonly reason: string | undefined },
  change: LibraryChange,
): Promise<void> {
  if (reason === undefined) return append(db, artifact, { type: "libraries.unyank.v1", details: [{ version }] }, change);
  return append(db, artifact, { type: "libraries.yank.v1", details: [{ version, reason }] }, change);
}

function fileDetails({ version, path, digest, size }: ChangedFile): object {
  return { version, file: path, digest, size };
}

async function append(
  db: WriteDb,
  { groupUid, artifactUid, ecosystem, name }: ChangedArtifact,
  { type, details }: { readonly type: string; readonly details: readonly object[] },
  { origin, now, names }: LibraryChange,
): Promise<void> {
  const about = { ecosystem: EcosystemSchema.value[ecosystem]?.name, artifact_id: artifactUid, name };
  const from = { when: now.toISOString(), remote_address: origin.remoteAddress, user_agent: origin.userAgent };
  const { actor } = origin;
  const common = { type, source: `${names.baseUrl}/libraries`, subject: artifactUid, group: groupUid, extensions: {}, actor, now };
  const events = details.map((detail) => ({ ...common, body: { ...about, ...detail, ...from } }));
  for (let start = 0; start < events.length; start += MAX_EVENTS_PER_STATEMENT)
    await appendPlainEvents(db, events.slice(start, start + MAX_EVENTS_PER_STATEMENT), names);
}
