/** The records that every format is read into. Plain data with strings that every store accepts. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Reference_Type } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import type { AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { AffectedVersions } from "../model/affected.ts";
import type { CvssVersion } from "../model/cvss-vector.ts";

/** The kind and the payload of an event, as `create` takes them. */
export type EventType = Exclude<NonNullable<MessageInitShape<typeof AdvisoryEventSchema>["type"]>, { case?: undefined }>;

export interface EventRecord {
  /** Unix milliseconds. */
  readonly time: number;
  /** The source gives the event this time. Otherwise the time is that of the document or the import, and does not identify the event. */
  readonly isOwnTime: boolean;
  readonly type: EventType;
}

/** One vulnerability in one package, as one source describes it. */
export interface AdvisoryRecord {
  readonly advisoryId: string;
  readonly aliases: readonly string[];
  readonly artifactType: string;
  readonly artifactName: string;
  /** Empty for all architectures. */
  readonly artifactArchitecture: string;
  readonly componentType: string;
  readonly componentName: string;
  /** When the source withdrew the record, in Unix milliseconds. Undefined if it did not. */
  readonly withdrawn: number | undefined;
  /** The affected versions, for formats that list them. */
  readonly affected?: AffectedVersions;
  readonly events: readonly EventRecord[];
}

/** An advisory of an apk package, for formats without architectures, components and withdrawals. */
export function apkAdvisory(artifactName: string, rest: Pick<AdvisoryRecord, "advisoryId" | "aliases" | "events">): AdvisoryRecord {
  const artifact = { artifactType: "apk", artifactName, artifactArchitecture: "", componentType: "", componentName: "" };
  return { ...artifact, ...rest, withdrawn: undefined };
}

/** The metadata of a vulnerability in a public database. */
export interface VulnerabilityRecord {
  readonly id: string;
  /** In the format of time columns. Empty if the source does not say. */
  readonly modified: string;
  readonly summary: string;
  readonly details: string;
  readonly references: readonly { readonly type: Reference_Type; readonly url: string }[];
  readonly severities: readonly { readonly type: CvssVersion; readonly score: string }[];
}

/** A record with its origin, for reporting problems. */
export interface Located<T = ImportRecord> {
  readonly record: T;
  readonly file: string;
  readonly position: string;
}

export type ImportRecord = AdvisoryRecord | VulnerabilityRecord;

/** A record, or a part of one, cannot be used. The readers of formats throw it; callers report it and continue. */
export class BadRecord extends Error {
  override readonly name = "BadRecord";
  /** A JSON pointer within the document. */
  readonly pointer: string;
  constructor(pointer: string, reason: string) {
    super(reason);
    this.pointer = pointer;
  }
}
