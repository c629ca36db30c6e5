/** Reads the public content of a stored advisory: its fields and its approved events. Pure. */

/** Event types, by their field names in version 2 of the API. */
export type EventKind = (typeof KINDS)[number];

const KINDS = [
  "detection",
  "fixed",
  "falsePositiveDetermination",
  "analysisNotPlanned",
  "fixNotPlanned",
  "pendingUpstreamFix",
  "truePositiveDetermination",
  "patched",
] as const;

export interface PublishedEvent {
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly kind: EventKind;
  /** The empty string if there is no note. */
  readonly note: string;
  /** The fixed version, or the patched versions; empty for other types. */
  readonly versions: readonly string[];
  /** For a false positive, the name of the API's enum value without its prefix; otherwise empty. */
  readonly reason: string;
}

export interface PublishedAdvisory {
  readonly uid: string;
  readonly advisoryId: string;
  readonly aliases: readonly string[];
  readonly artifactType: string;
  readonly artifactName: string;
  readonly artifactArchitecture: string;
  readonly componentType: string;
  readonly componentName: string;
  readonly componentLocation: string;
  readonly createTime: string;
  readonly updateTime: string;
  /** Oldest first, at least one. */
  readonly events: readonly PublishedEvent[];
  /** The last event, which determines the current status. */
  readonly latest: PublishedEvent;
}

interface StoredEvent {
  readonly createTime: string;
  readonly reviewState: string;
  readonly [kind: string]: unknown;
}

interface Payload {
  readonly note?: string;
  readonly fixedVersion?: string;
  readonly patchedVersions?: readonly string[];
  readonly type?: unknown;
}

/** @param body as stored: JSON of version 2, written by this server @returns undefined if no event is approved */
export function publishedAdvisory(body: string): PublishedAdvisory | undefined {
  const { events: stored, ...advisory } = JSON.parse(body) as Omit<PublishedAdvisory, "events"> & {
    readonly events: readonly StoredEvent[];
  };
  const events = stored.flatMap((event) => (event.reviewState === "REVIEW_STATE_APPROVED" ? (publishedEvent(event) ?? []) : []));
  const latest = events.at(-1);
  return latest === undefined ? undefined : { ...advisory, events, latest };
}

function publishedEvent(event: StoredEvent): PublishedEvent | undefined {
  const kind = KINDS.find((name) => event[name] !== undefined);
  if (kind === undefined) return undefined;
  const { note = "", fixedVersion = "", patchedVersions = [], type } = event[kind] as Payload;
  const versions = kind === "fixed" ? [fixedVersion] : patchedVersions;
  return {
    time: event.createTime,
    kind,
    note,
    versions: versions.filter((version) => version !== ""),
    reason: typeof type === "string" ? type.replace(/^TYPE_/, "") : "",
  };
}
