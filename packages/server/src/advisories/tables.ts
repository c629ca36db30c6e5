/** The tables of advisories. The migrations create them. Columns are named after proto fields. */
import type { Generated } from "kysely";
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    advisory: AdvisoryTable;
    advisory_count: AdvisoryCountTable;
    advisory_people_count: AdvisoryPeopleCountTable;
    advisory_change: AdvisoryChangeTable;
    feed: FeedTable;
    feed_file: FeedFileTable;
    advisory_alias: AdvisoryAliasTable;
    advisory_term: AdvisoryTermTable;
    advisory_suffix: AdvisorySuffixTable;
    vulnerability: VulnerabilityTable;
    advisory_mirror: AdvisoryMirrorTable;
    advisory_mirror_run: AdvisoryMirrorRunTable;
    advisory_import: AdvisoryImportTable;
    import_turn: ImportTurnTable;
    advisory_import_fetch: AdvisoryImportFetchTable;
    advisory_import_part: AdvisoryImportPartTable;
    advisory_import_problem: AdvisoryImportProblemTable;
    advisory_affected: AdvisoryAffectedTable;
    match_request: MatchRequestTable;
    match_turn: MatchTurnTable;
    matched_image: MatchedImageTable;
    matched_package: MatchedPackageTable;
    matched_image_package: MatchedImagePackageTable;
    finding: FindingTable;
    critical_notice: CriticalNoticeTable;
  }

  interface PartialCounts {
    vulnerability: true;
  }
}

/**
 * `name` is always the empty string. `body` is JSON of version 2 without severities, which are added when it is read.
 */
export interface AdvisoryTable extends ResourceTable {
  /** Set for a deleted advisory. Lists leave it out. */
  delete_time: string | null;
  /**
   * The advisory's identity within its group: advisory id, artifact and component as a JSON array, or its SHA-256 if it
   * is long.
   */
  about: string;
  advisory_id: string;
  legacy_advisory_id: string | null;
  artifact_name: string;
  artifact_type: string;
  artifact_architecture: string;
  component_name: string;
  component_type: string;
  component_location: string;
  /** The empty string if there are no aliases. */
  first_alias: string;
  /** EventTypeFilter number of the latest approved event; 0 if there is none. */
  latest_type: number;
  /** Bit n is set if an event has type n of EventTypeFilter. */
  event_types: number;
  /** Bit n is set if an event is in ReviewState n. */
  review_states: number;
  /** The authors of the events, encoded as in model/people.ts. */
  authors: string;
  reviewers: string;
  /** When and where approved events resolved it (storage/resolutions.ts); the empty string if they did not. */
  resolutions: string;
  /**
   * Events of a type that version 2 does not have: a JSON array of AdvisoryEvent of version 1; the empty string if
   * there are none.
   */
  other_events: string;
}

/**
 * Number of live advisories below a group that agree in all key columns. A list's total is the sum of the rows that
 * match its filter.
 */
export interface AdvisoryCountTable {
  group_uid: string;
  artifact_type: string;
  artifact_architecture: string;
  component_type: string;
  latest_type: number;
  event_types: number;
  review_states: number;
  /** As in `resource_count`. */
  slot: number;
  below: number;
  direct: number;
}

/** Number of live advisories below a group whose events have the same authors, or the same reviewers. */
export interface AdvisoryPeopleCountTable {
  group_uid: string;
  facet: "authors" | "reviewers";
  people: string;
  slot: number;
  below: number;
  direct: number;
}

/** Number of writes of advisories below a group, in slots like counts. */
export interface AdvisoryChangeTable {
  group_uid: string;
  slot: number;
  changes: number;
}

/** The current feed of each group and format. Feeds are a cache: any server can build them again. */
export interface FeedTable {
  group_uid: string;
  format: string;
  /** Names the build among all. */
  build: string;
  /** A `CachedFeed` as JSON. */
  body: string;
  /** When the feed was requested last, to the minute. */
  use_time: string;
}

/** Files of feeds in the blob store. Files of a build that is no longer current stay for readers until `keep_time`. */
export interface FeedFileTable {
  build: string;
  part: "data" | "index" | "gzip";
  group_uid: string;
  digest: string;
  size: number;
  keep_time: string;
}

/** Aliases as given; they are compared exactly. A deleted advisory has no rows. */
export interface AdvisoryAliasTable {
  alias: string;
  advisory_uid: string;
}

/** Search terms in lower case: names of artifact and component, and aliases. A deleted advisory has no rows. */
export interface AdvisoryTermTable {
  term: string;
  advisory_uid: string;
}

/** The suffixes of each term, as in storage/search-terms.ts. A term may outlive its advisories. */
export interface AdvisorySuffixTable {
  suffix: string;
  term: string;
}

/** The public record of a vulnerability, shared by all organizations. */
export interface VulnerabilityTable {
  id: string;
  /** Time of the last change in this database. */
  update_time: string;
  /** When its source changed it, or the empty string. An older record does not replace a newer one. */
  modified_time: string;
  /** JSON array of Severity of platform.vulnerabilities.v2; added to the advisories that have this alias. */
  severities: string;
  /** Canonical proto-JSON of VulnerabilityMetadata of version 2. */
  body: string;
}

/** How long a lease on a fetch lasts unless it is renewed: of a mirror, or of an import that names an address. */
export const FETCH_LEASE_MS = 30_000;

/**
 * A feed that is fetched periodically. The body includes the result of the last fetch; recording it does not change
 * `update_time`.
 */
export type AdvisoryMirrorTable = ResourceTable;

/** When a mirror is fetched next, and what is remembered of the last fetch. */
export interface AdvisoryMirrorRunTable {
  mirror_uid: string;
  /** JSON of the LastingSession on whose behalf it runs. */
  session: string;
  /** Earliest time of the next fetch; null while an import of this mirror waits or runs. */
  next_time: string | null;
  /** Failed attempts since the last success. */
  failures: number;
  /** ETag of the response that was last imported, or the empty string. */
  etag: string;
  last_modified: string;
  /** SHA-256 of the bytes that were last imported. */
  digest: string;
  /** Uid of the import that waits or runs. */
  import_uid: string | null;
  /** Name of the staged file of the current fetch; null if there is none. */
  file: string | null;
  /** The server that fetches until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** How long a lease on a row of this table lasts unless it is renewed. */
export const IMPORT_LEASE_MS = 30_000;

/** An import: its file, its state and its results. */
export interface AdvisoryImportTable {
  uid: string;
  parent: string;
  org_uid: string;
  /** The mirror that fetched the file; null if a client uploads it. */
  mirror_uid: string | null;
  /** The identity that uploads the file; nobody else may. Null if a mirror fetched it. */
  creator: string | null;
  kind: "advisories" | "vulnerabilities";
  file_name: string;
  /** Name of the staged file. */
  file: string;
  state: "uploading" | "fetching" | "waiting" | "running" | "done" | "failed";
  received_bytes: number;
  create_time: string;
  /** When the last part was received. */
  write_time: string;
  start_time: string | null;
  end_time: string | null;
  /** JSON of the Session on whose behalf it runs. Null until it is started. */
  session: string | null;
  /** 1 if the identity that started it may approve events. */
  approves: number;
  /** 1 if the identity that started it may delete advisories. */
  may_delete: number;
  /** Runs that started and did not finish. */
  attempts: number;
  /** Earliest time of the run; null for immediately. */
  due_time: string | null;
  /** The server that runs the import until `lease_time`. */
  lease_holder: string | null;
  lease_time: string | null;
  read_count: number;
  created_count: number;
  updated_count: number;
  unchanged_count: number;
  problem_count: number;
  error: string;
  /** The address that the file is fetched from, once; null if a client uploads it or a mirror fetched it. */
  url: string | null;
  /** ETag of the mirror's feed, as in `advisory_mirror_run`; empty for an upload. */
  etag: string;
  last_modified: string;
  digest: string;
}

/** The fetch of the file of an import in state `fetching`. */
export interface AdvisoryImportFetchTable {
  import_uid: string;
  create_time: string;
  /** Fetches that started and did not finish. */
  attempts: number;
  /** The server that fetches until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** When each organization last started an import. */
export interface ImportTurnTable {
  org_uid: string;
  turn_time: string;
}

/** A part of an import's file that was received and acknowledged. */
export interface AdvisoryImportPartTable {
  import_uid: string;
  part_offset: number;
  size: number;
  sha256: string;
}

export interface AdvisoryImportProblemTable {
  import_uid: string;
  number: number;
  file: string;
  position: string;
  reason: string;
}

/** The affected versions of an advisory, as the record that was imported last lists them. */
export interface AdvisoryAffectedTable {
  advisory_uid: string;
  /** When the source changed the record. An older one does not replace it. */
  modified_time: string;
  /** JSON, as in model/affected.ts. */
  entries: string;
}

/** Queue of comparisons. The worker deletes a request with the results; a request with another token stays. */
export interface MatchRequestTable {
  org_uid: string;
  /**
   * - image: the packages of a manifest became known in the organization,
   * - advisory: advisories of the organization about a package changed; a public organization's concern all others,
   * - package: the advisories about a package are to be compared with the organization's packages,
   * - quiet: the critical findings of an image are recorded without events,
   * - alert: the critical findings of an image may have changed.
   */
  kind: "image" | "advisory" | "package" | "quiet" | "alert";
  /** Digest of a manifest, or key of a package (model/package-key.ts). */
  name: string;
  /** The empty string for images from before the upgrade. */
  token: string;
}

/** How long a lease on a row of this table lasts unless it is renewed. */
export const MATCHING_LEASE_MS = 60_000;

/** When each organization's requests were worked on last. */
export interface MatchTurnTable {
  org_uid: string;
  turn_time: string;
  /** The server that works on them until `lease_time`; null if none does. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** A manifest whose packages are in `matched_package`: that of an image, or one with SBOMs. */
export interface MatchedImageTable {
  id: Generated<number>;
  org_uid: string;
  digest: string;
  match_time: string;
}

/** A package in images of an organization. Images share most of their packages, so each is compared once. */
export interface MatchedPackageTable {
  id: Generated<number>;
  org_uid: string;
  /** As in `image_package`. */
  type: string;
  name: string;
  version: string;
  origin: string;
  /** Id and version of the distribution, such as `alpine 3.22.1`; empty for packages of no distribution. */
  distribution: string;
  /** Key of its name, and of its origin (model/package-key.ts). */
  match_name: string;
  match_origin: string;
  /** Version of the origin, which advisories about the origin mean; empty if it is that of the package. */
  origin_version: string;
  /** 0 until it was compared. */
  is_matched: number;
}

export interface MatchedImagePackageTable {
  image_id: number;
  package_id: number;
}

/** A vulnerability in a package during a time. Rows are closed, not changed, so that counts of the past stay the same. */
export interface FindingTable {
  package_id: number;
  /** Id of the CVE, or else of another database. */
  vulnerability: string;
  open_time: string;
  /** Null while it holds. */
  close_time: string | null;
  /** Number of Severity of holt.v1. */
  severity: number;
  /** 1 if a statement says that it does not apply. */
  is_suppressed: number;
  /** JSON of FindingDetail (findings/finding.ts). */
  detail: string;
}

/** A critical vulnerability of an image that subscribers know of. */
export interface CriticalNoticeTable {
  image_id: number;
  repo_uid: string;
  vulnerability: string;
}
