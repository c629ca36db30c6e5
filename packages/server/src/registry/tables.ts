/** The tables of the registry. The migrations create them. Columns are named after proto fields. */
import type { Generated } from "kysely";
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    repo: RepoTable;
    repo_readme: RepoReadmeTable;
    repo_share: RepoShareTable;
    image_facts_wait: ImageFactsWaitTable;
    tag: TagTable;
    repo_blob: RepoBlobTable;
    manifest: ManifestTable;
    manifest_reference: ManifestReferenceTable;
    image: ImageTable;
    tag_history: TagHistoryTable;
    upload: UploadTable;
    image_scan: ImageScanTable;
    image_wait: ImageWaitTable;
    image_turn: ImageTurnTable;
    image_package: ImagePackageTable;
    index_platform: IndexPlatformTable;
    package_origin: PackageOriginTable;
    pull_count: PullCountTable;
    build_report: BuildReportTable;
    chart_image: ChartImageTable;
    pull_recording: PullRecordingTable;
    signature_key: ResourceTable;
    repo_deployment: RepoDeploymentTable;
    repo_end_of_life: EndOfLifeTable;
    tag_end_of_life: EndOfLifeTable;
    registry_settings: RegistrySettingsTable;
  }

  interface PartialCounts {
    plain_tag: true;
  }
}

/** A repo is the child of a group and the parent of its tags. */
export interface RepoTable extends ResourceTable {
  /** Uid of the repo that it is synced from. */
  source: string | null;
  /** Uid of the identity that set the source; null if unknown. */
  source_by: Generated<string | null>;
  /** Fields that only version 1 of the API has, as JSON; null if all are unset. */
  version_one: Generated<string | null>;
}

/** How long a lease on a row of this table lasts unless it is renewed. */
export const SHARE_LEASE_MS = 60_000;

/** A source with changed fields, which are to be copied to the repos that are synced from it. */
export interface RepoShareTable {
  source_uid: string;
  /** Uid of the last repo that has the fields; empty at the beginning. */
  after: string;
  request_time: string;
  /** The server that copies them until `lease_time`; null if none does. */
  lease_holder: string | null;
  lease_time: string | null;
}

export interface RepoReadmeTable {
  uid: string;
  content: string;
}

export interface TagTable extends ResourceTable {
  digest: string;
  /**
   * Bits by the shape of its name: 1 for a referrer (`sha256-…`), 2 for a date (`…-20yymmdd`), 4 for an epoch (`…-r1`).
   * 0 for a plain tag.
   */
  class: number;
}

/** A link from a repo to a blob. A blob can only be read through a repo that links it. */
export interface RepoBlobTable {
  repo_uid: string;
  digest: string;
  /**
   * Start of the grace period before collection: when the blob was last linked, requested by a push, or released by a
   * deleted manifest.
   */
  touch_time: string;
}

/** Manifests and indexes with their bytes, which are small and read more than anything else. */
export interface ManifestTable {
  repo_uid: string;
  digest: string;
  media_type: string;
  artifact_type: string | null;
  /** Digest of the manifest that this one refers to, which need not exist. */
  subject: string | null;
  size: number;
  create_time: string;
  /** Start of the grace period before collection: when it was last pushed, requested by a push, or released by a tag or a parent. */
  touch_time: string;
  /** JSON object for the referrers API. */
  annotations: string | null;
  content: Uint8Array;
}

/** References of a manifest. Collection follows them. */
export interface ManifestReferenceTable {
  repo_uid: string;
  manifest_digest: string;
  digest: string;
  kind: "blob" | "manifest";
}

/** The facts about an image per platform. An index has one row for each of its platforms. */
export interface ImageTable {
  repo_uid: string;
  digest: string;
  architecture: string;
  os: string;
  variant: string;
  manifest_digest: string;
  config_digest: string;
  /** Bytes of all layers and the config. */
  size: number;
}

/** How long a lease on a row of this table lasts unless it is renewed. */
export const FACTS_LEASE_MS = 60_000;

/** A manifest whose facts are still to be recorded for the indexes that contain it. */
export interface ImageFactsWaitTable {
  /** `<uid of the repo>@<digest>`. */
  image: string;
  repo_uid: string;
  digest: string;
  /** The indexes up to this digest have the facts. */
  after: string;
  request_time: string;
  /** The server that works on it until `lease_time`; null if none does. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** Each digest that a tag has pointed to. Outlives the tag. */
export interface TagHistoryTable {
  seq: Generated<number>;
  repo_uid: string;
  tag: string;
  digest: string;
  time: string;
  /** Uid of the identity that moved the tag. */
  actor: string;
}

/** An unfinished upload. The blob store has its bytes under the same uid. */
export interface UploadTable {
  uid: string;
  /** Null if the repo did not exist when the upload began. */
  repo_uid: string | null;
  /** The name of such a repo, as the client wrote it; otherwise empty. */
  repository: string;
  identity_uid: string;
  create_time: string;
  update_time: string;
}

/** How long a lease on a row of this table lasts unless it is renewed. */
export const SCAN_LEASE_MS = 60_000;

/**
 * The progress of reading the packages of a manifest: that of an image, or one with SBOMs. It depends on the bytes
 * only, so all repos share it.
 */
export interface ImageScanTable {
  /** Digest of a manifest that is not an index. */
  digest: string;
  state: "pending" | "done" | "failed";
  attempts: number;
  /** The server that reads it until `lease_time`; null if none does. */
  lease_holder: string | null;
  lease_time: string | null;
  read_time: string | null;
  /** `ID VERSION_ID` of os-release; the empty string if unknown. */
  distribution: string;
  /** Message about unread content; the empty string if everything was read. */
  error: string;
  package_count: number;
}

/** The organizations that wait for a manifest to be read and for its origins. */
export interface ImageWaitTable {
  digest: string;
  org_uid: string;
  /** Earliest time of the reading. */
  due_time: string;
}

/** When each organization had its last run. */
export interface ImageTurnTable {
  org_uid: string;
  /**
   * The end of the organization's last run plus the duration of that run. The waiting organization with the earliest
   * time is next.
   */
  turn_time: string;
}

/**
 * A package of a manifest. Which SBOMs describe an image depends on the repo (registry/packages/descriptions.ts), so
 * that users of one repo cannot describe images of another.
 */
export interface ImagePackageTable {
  /** Digest of the manifest that names the package: the image's, or that of an SBOM. */
  digest: string;
  /** Type of package URL: `apk`, `deb`, `rpm`, `pypi`, `npm`, `golang`, `maven` … */
  type: string;
  name: string;
  version: string;
  architecture: string;
  /** The source package that it is built from; its own name if unknown. */
  origin: string;
  /** Path of the package database, or digest of the SBOM. */
  location: string;
  /** `image` for a package database in a layer, else the media type of the SBOM. */
  source: string;
  purl: string;
}

/**
 * The images of an index, one per platform. It depends on the index's bytes only and has no foreign keys, as it
 * outlives manifests.
 */
export interface IndexPlatformTable {
  digest: string;
  manifest_digest: string;
}

export interface PackageOriginTable {
  org_uid: string;
  type: string;
  name: string;
  origin: string;
}

/** The pulls of a manifest by an identity within an hour, until their event is emitted. */
export interface PullCountTable {
  /** The start of the hour. */
  hour: string;
  repo_uid: string;
  digest: string;
  /** The empty string for pulls by digest. */
  tag: string;
  method: "GET" | "HEAD";
  identity_uid: string;
  /** The name of the repository, as the client wrote it last. */
  repository: string;
  /** The claims of the identity at its last pull, as JSON. */
  claims: string;
  count: number;
}

/** A build that provenance in a repo describes. */
export interface BuildReportTable {
  /** Below the repo's uid. */
  uid: string;
  /** Uid of the repo. */
  parent: string;
  org_uid: string;
  /** Digest of the manifest with the provenance. */
  manifest_digest: string;
  start_time: string;
  /** The report as canonical proto-JSON. */
  body: string;
}

/** A repository whose images a chart uses. */
export interface ChartImageTable {
  /** Uid of the chart's repo. */
  repo_uid: string;
  /** Digest of the chart's manifest. */
  manifest_digest: string;
  org_uid: string;
  /** With its registry, as the chart names it, without a tag. */
  repository: string;
  /** Number of a `ChartImageRequirement`. */
  requirement: number;
}

/** The recording of pulls that an organization wants. */
export interface PullRecordingTable {
  org_uid: string;
  recording: "blobs" | "manifests" | "hourly" | "off";
}

/** The charts that deploy a repo. A row without charts is a deployment that was cleared. */
export interface RepoDeploymentTable {
  repo_uid: string;
  /** `platform.registry.v1.Deployment` as canonical proto-JSON. */
  body: string;
}

/** End-of-life settings of a repo or a tag. */
export interface EndOfLifeTable {
  /** Uid of the repo or the tag. */
  uid: string;
  /** `holt.v1.EndOfLife` as canonical proto-JSON. */
  body: string;
}

/** Apply to the group and below, except where a lower group has settings of its own. */
export interface RegistrySettingsTable {
  group_uid: string;
  /** 1 or 0, as is `eol_grace_period`. */
  unique_tags: number;
  eol_grace_period: number;
}
