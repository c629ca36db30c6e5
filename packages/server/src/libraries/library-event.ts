/** What subscribers are told of what is published. */
import { type Ecosystem, EcosystemSchema } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { WriteDb } from "../db/store.ts";
import { appendPlainEvents, type EventNames, type Happening } from "../events/outbox.ts";

/** Who publishes, and from where. */
export interface LibraryOrigin {
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly actor: NonNullable<Happening["actor"]>;
}

export interface PublishedFile {
  readonly groupUid: string;
  readonly artifactUid: string;
  readonly ecosystem: Ecosystem;
  readonly name: string;
  readonly version: string;
  readonly path: string;
  readonly digest: string;
  readonly size: number;
}

export function appendPublished(db: WriteDb, file: PublishedFile, origin: LibraryOrigin, now: Date, names: EventNames): Promise<void> {
  const { groupUid, artifactUid, ecosystem, name, version, path, digest, size } = file;
  const body = {
    ecosystem: EcosystemSchema.value[ecosystem]?.name,
    artifact_id: artifactUid,
    name,
    version,
    file: path,
    digest,
    size,
    when: now.toISOString(),
    remote_address: origin.remoteAddress,
    user_agent: origin.userAgent,
  };
  const source = `${names.baseUrl}/libraries`;
  const event = {
    type: "libraries.push.v1",
    source,
    subject: artifactUid,
    group: groupUid,
    extensions: {},
    actor: origin.actor,
    body,
    now,
  };
  return appendPlainEvents(db, [event], names);
}
