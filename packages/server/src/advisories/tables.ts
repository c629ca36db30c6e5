/** The tables of advisories. The migrations make them; column names equal proto field names. */
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    advisory: AdvisoryTable;
    advisory_count: AdvisoryCountTable;
    advisory_people_count: AdvisoryPeopleCountTable;
    advisory_change: AdvisoryChangeTable;
    advisory_alias: AdvisoryAliasTable;
    advisory_term: AdvisoryTermTable;
    advisory_suffix: AdvisorySuffixTable;
    vulnerability: VulnerabilityTable;
    advisory_mirror: AdvisoryMirrorTable;
    advisory_mirror_run: AdvisoryMirrorRunTable;
    advisory_import: AdvisoryImportTable;
    import_turn: ImportTurnTable;
    advisory_import_part: AdvisoryImportPartTable;
    advisory_import_problem: AdvisoryImportProblemTable;
  }

  interface PartialCounts {
    vulnerability: true;
  }
}

/** An advisory has no name of its own; the column is the empty string. Its body is that of version 2 without severities, which are derived when it is read. */
export interface AdvisoryTable extends ResourceTable {
  /** Set on a deleted one, which lists leave out. */
  delete_time: string | null;
  /** What no two of a group have in common: advisory id, artifact and component, as a JSON array, or as the hash of a long one. */
  about: string;
  advisory_id: string;
  legacy_advisory_id: string | null;
  artifact_name: string;
  artifact_type: string;
  artifact_architecture: string;
  component_name: string;
  component_type: string;
  component_location: string;
  /** The empty string for none. */
  first_alias: string;
  /** Number of EventTypeFilter of the most recent approved event; 0 for none. */
  latest_type: number;
  /** Bit n is set where some event is of type n. */
  event_types: number;
  /** Bit n is set where some event is in ReviewState n. */
  review_states: number;
  /** Who wrote the events, as in advisories/people.ts. */
  authors: string;
  reviewers: string;
  /** What approved events say of being resolved (`advisories/resolutions.ts`); the empty string for nothing. */
  resolutions: string;
  /** Events that version 2, and so the body, does not know: a JSON array of AdvisoryEvent of version 1; the empty string for none. */
  other_events: string;
}

/** How many advisories that are not deleted stand below a group and agree in all of this: a list's total is the sum of those it asks for. */
export interface AdvisoryCountTable {
  group_uid: string;
  artifact_type: string;
  artifact_architecture: string;
  component_type: string;
  latest_type: number;
  event_types: number;
  review_states: number;
  /** As in resource_count. */
  slot: number;
  below: number;
  direct: number;
}

/** The same for all that have the same people as authors of their events, or as reviewers. */
export interface AdvisoryPeopleCountTable {
  group_uid: string;
  facet: "authors" | "reviewers";
  people: string;
  slot: number;
  below: number;
  direct: number;
}

/** How often anything below a group was written, in slots as counts are. */
export interface AdvisoryChangeTable {
  group_uid: string;
  slot: number;
  changes: number;
}

/** As given: aliases are compared exactly. A deleted advisory has none. */
export interface AdvisoryAliasTable {
  alias: string;
  advisory_uid: string;
}

/** What search looks through: names of artifact and component, and aliases, in lower case. A deleted advisory has none. */
export interface AdvisoryTermTable {
  term: string;
  advisory_uid: string;
}

/** A term from each of its characters on, as in advisories/search-terms.ts. A term may outlive its advisories. */
export interface AdvisorySuffixTable {
  suffix: string;
  term: string;
}

/** What public databases say of a vulnerability; the same for all organizations. */
export interface VulnerabilityTable {
  id: string;
  /** When it was last stored with a change. */
  update_time: string;
  /** When its source changed it, or the empty string: an older record does not replace a newer one. */
  modified_time: string;
  /** JSON array of Severity (platform.vulnerabilities.v2), for the advisories that name it. */
  severities: string;
  /** VulnerabilityMetadata of version 2 as canonical proto-JSON. */
  body: string;
}

/** A feed that is fetched again and again. Its body has what became of that, which changes without an update. */
export type AdvisoryMirrorTable = ResourceTable;

/** When a mirror's feed is fetched, and what is known of it. */
export interface AdvisoryMirrorRunTable {
  mirror_uid: string;
  /** JSON of a LastingSession: whom it acts for. */
  session: string;
  /** When it is fetched, at the earliest; null while an import of it waits or runs. */
  next_time: string | null;
  /** Attempts that failed since the last one that did not. */
  failures: number;
  /** Of the answer that was last imported; empty where there was none. */
  etag: string;
  last_modified: string;
  /** SHA-256 of its bytes. */
  digest: string;
  /** The import that waits or runs. */
  import_uid: string | null;
  /** Staged file of the fetch under way; null for none. */
  file: string | null;
  /** The server that fetches until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** A file that is being sent, or was, and what became of its records. */
export interface AdvisoryImportTable {
  uid: string;
  parent: string;
  org_uid: string;
  /** The mirror that fetched the file; null where it was sent. */
  mirror_uid: string | null;
  /** Identity that sends the file, alone; null where a mirror fetched it. */
  creator: string | null;
  kind: "advisories" | "vulnerabilities";
  file_name: string;
  /** Name of the staged file. */
  file: string;
  state: "uploading" | "waiting" | "running" | "done" | "failed";
  received_bytes: number;
  create_time: string;
  /** When the last piece came. */
  write_time: string;
  start_time: string | null;
  end_time: string | null;
  /** JSON of a Session: whom it acts for. Null before it is started. */
  session: string | null;
  /** 1 where whoever started it might approve. */
  approves: number;
  /** 1 where whoever started it might delete. */
  may_delete: number;
  /** How often a server began with it and did not end. */
  attempts: number;
  /** When a waiting one may be run; null for at once. */
  due_time: string | null;
  /** The server that runs it until `lease_time`. */
  lease_holder: string | null;
  lease_time: string | null;
  read_count: number;
  created_count: number;
  updated_count: number;
  unchanged_count: number;
  problem_count: number;
  error: string;
  /** Of a mirror's feed, as in its run; empty otherwise. */
  etag: string;
  last_modified: string;
  digest: string;
}

/** When an import of an organization was last begun. */
export interface ImportTurnTable {
  org_uid: string;
  turn_time: string;
}

/** A piece of an import's file that was acknowledged. */
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
