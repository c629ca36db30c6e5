/** What all formats of advisories and vulnerabilities are read into, before any of it is stored. Plain data, with texts that every store takes. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Reference_Type } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import type { AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { CvssVersion } from "./cvss-vector.ts";

/** Kind and payload of an event, as `create` takes them. */
export type EventType = Exclude<NonNullable<MessageInitShape<typeof AdvisoryEventSchema>["type"]>, { case?: undefined }>;

export interface EventRecord {
  /** Unix milliseconds. */
  readonly time: number;
  /** Whether the source gives the event this time. Where it is only that of its document, or of the import, the event is known again without it. */
  readonly isOwnTime: boolean;
  readonly type: EventType;
}

/** What one source says of one vulnerability in one package. */
export interface AdvisoryRecord {
  readonly advisoryId: string;
  readonly aliases: readonly string[];
  readonly artifactType: string;
  readonly artifactName: string;
  /** The empty string for all of them. */
  readonly artifactArchitecture: string;
  readonly componentType: string;
  readonly componentName: string;
  /** When the source took it back, in Unix milliseconds; undefined while it stands. */
  readonly withdrawn: number | undefined;
  readonly events: readonly EventRecord[];
}

/** Of a package of apk, in formats that know of no architectures, components or withdrawals. */
export function apkAdvisory(artifactName: string, said: Pick<AdvisoryRecord, "advisoryId" | "aliases" | "events">): AdvisoryRecord {
  const about = { artifactType: "apk", artifactName, artifactArchitecture: "", componentType: "", componentName: "" };
  return { ...about, ...said, withdrawn: undefined };
}

/** What a public database says of a vulnerability. */
export interface VulnerabilityRecord {
  readonly id: string;
  /** As columns have it, or the empty string where the source does not say. */
  readonly modified: string;
  readonly summary: string;
  readonly details: string;
  readonly references: readonly { readonly type: Reference_Type; readonly url: string }[];
  readonly severities: readonly { readonly type: CvssVersion; readonly score: string }[];
}

/** Where a record came from, for what is found wrong with it later. */
export interface Placed<T = ImportRecord> {
  readonly record: T;
  readonly file: string;
  readonly position: string;
}

export type ImportRecord = AdvisoryRecord | VulnerabilityRecord;

/** A record, or a part of one, that cannot be used. Readers of formats throw it; whoever goes on reports it. */
export class BadRecord extends Error {
  override readonly name = "BadRecord";
  /** JSON pointer within the document. */
  readonly pointer: string;
  constructor(pointer: string, reason: string) {
    super(reason);
    this.pointer = pointer;
  }
}
