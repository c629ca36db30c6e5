/** The tables of the registry. The migrations make them; column names equal proto field names. */
import type { Generated } from "kysely";
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    repo: RepoTable;
    repo_readme: RepoReadmeTable;
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
  }

  interface PartialCounts {
    plain_tag: true;
  }
}

/** Named `group/…/name` under its organization; a repo's tags are its children. */
export interface RepoTable extends ResourceTable {
  /** Uid of the repo it is synced from. */
  source: string | null;
}

export interface RepoReadmeTable {
  uid: string;
  content: string;
}

export interface TagTable extends ResourceTable {
  digest: string;
  /** What its name looks like, as bits: 1 a referrer (`sha256-…`), 2 a date (`…-20yymmdd`), 4 an epoch (`…-r1`). 0 is a plain tag. */
  class: number;
}

/** A blob can be read only through a repo that links it. */
export interface RepoBlobTable {
  repo_uid: string;
  digest: string;
  /** When it was last linked, asked for by a push, or let go by a deleted manifest: the grace period before collection begins here. */
  touch_time: string;
}

/** Manifests and indexes, with their bytes: they are small, and read more than anything else. */
export interface ManifestTable {
  repo_uid: string;
  digest: string;
  media_type: string;
  artifact_type: string | null;
  /** Digest of the manifest that this one refers to, present or not. */
  subject: string | null;
  size: number;
  create_time: string;
  /** When it was last pushed, or let go by a tag or a parent: the grace period before collection begins here. */
  touch_time: string;
  /** JSON object, for the referrers API. */
  annotations: string | null;
  content: Uint8Array;
}

/** What a manifest needs to be pulled whole: collection follows it. */
export interface ManifestReferenceTable {
  repo_uid: string;
  manifest_digest: string;
  digest: string;
  kind: "blob" | "manifest";
}

/** Facts of an image by platform; an index has a row for each of its platforms. */
export interface ImageTable {
  repo_uid: string;
  digest: string;
  architecture: string;
  os: string;
  variant: string;
  manifest_digest: string;
  config_digest: string;
  /** Of all layers and the config. */
  size: number;
}

/** Each digest that a tag has had. Outlives the tag. */
export interface TagHistoryTable {
  seq: Generated<number>;
  repo_uid: string;
  tag: string;
  digest: string;
  time: string;
  /** Uid of the identity that moved it. */
  actor: string;
}

/** An upload under way; its bytes are in the blob store under the same name. */
export interface UploadTable {
  uid: string;
  repo_uid: string;
  identity_uid: string;
  create_time: string;
  update_time: string;
}

/** How far the packages of a manifest are read: of an image, or of what brings SBOMs of one. It follows from its bytes, so it is the same for all repos that have it. */
export interface ImageScanTable {
  /** Of a manifest that is no index. */
  digest: string;
  state: "pending" | "done" | "failed";
  attempts: number;
  /** The server that reads it until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
  read_time: string | null;
  /** `ID VERSION_ID` of os-release; the empty string where there is none. */
  distribution: string;
  /** What could not be read, for people; the empty string where all could. */
  error: string;
  package_count: number;
}

/** An organization waits for a manifest: to be read, and then to be told its origins. */
export interface ImageWaitTable {
  digest: string;
  org_uid: string;
  /** Not before. */
  due_time: string;
}

/** Whose images were read when. */
export interface ImageTurnTable {
  org_uid: string;
  /** When its last turn ended, later by as long as that took: who waits and has the earliest is next. */
  turn_time: string;
}

/** Which SBOMs are about an image, each repo says for itself (`registry/packages/descriptions.ts`): what one repo's users attach says nothing in others. */
export interface ImagePackageTable {
  /** Of the manifest that says so: the image's, or that of what brings an SBOM. */
  digest: string;
  /** As in package URLs: `apk`, `deb`, `rpm`, `pypi`, `npm`, `golang`, `maven` … */
  type: string;
  name: string;
  version: string;
  architecture: string;
  /** The source package that it is built from; its own name where nothing else is said. */
  origin: string;
  /** Path of the database, or digest of the SBOM, that says so. */
  location: string;
  /** `image` for a package database in a layer, else the media type of the SBOM. */
  source: string;
  purl: string;
}

/** Images of which an index is made, one for each platform. Refers to nothing and follows from the index's bytes: like the history of tags, it outlives manifests. */
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
