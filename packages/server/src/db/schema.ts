/** The tables as TypeScript sees them. What makes them is `migrations/`; column names equal proto field names. Times are UTC text with three fraction digits. */
import type { Generated, GeneratedAlways } from "kysely";

/** What every resource table has. `body` is the resource as canonical proto-JSON text and is the truth; the columns exist to filter, sort, join and be unique. */
export interface ResourceTable {
  uid: string;
  /** Uid of the parent; null where the uid is in root. */
  parent: string | null;
  name: string;
  create_time: string;
  update_time: string;
  body: string;
}

export interface GroupTable extends ResourceTable {
  /** 1 where the organization is verified: its name is then unique among the verified. */
  verified: number;
}

export interface IdentityTable extends ResourceTable {
  /** Number of RelationshipType. */
  relationship_type: number;
  /** The one subject that its claim match accepts, where that is a uid: it may be another identity of this server. */
  accepted_uid: string | null;
  /** Made by the database of the body, as is the next: the beginning of the one issuer whose tokens it takes; null where it takes none, or by a pattern. */
  token_issuer: GeneratedAlways<string | null>;
  /** Of the one subject. */
  token_subject: GeneratedAlways<string | null>;
}

export interface RoleTable extends ResourceTable {
  /** Orders built-in roles before custom ones: `0` or `1`, then the uid. */
  rank: string;
  /** The role's capabilities as a bit set, lower-case hexadecimal of the number whose bit b stands for capability bit b. */
  capabilities: string;
}

/** A binding has no name of its own; the column is the empty string. */
export interface RoleBindingTable extends ResourceTable {
  identity_uid: string;
  role_uid: string;
}

/** How many rows of a kind stand below a group. Several slots a group, so that writers need not wait for each other: the count is their sum. */
export interface ResourceCountTable {
  group_uid: string;
  /** A CountKind: the name of the resource's table, or of a part of it. */
  kind: string;
  slot: number;
  /** Rows anywhere below the group. */
  below: number;
  /** Rows whose parent is the group itself. */
  direct: number;
}

/** One CloudEvent per evented write, appended in the write's own transaction. */
export interface OutboxTable {
  seq: Generated<number>;
  id: string;
  type: string;
  source: string;
  subject: string;
  /** Uid of the event's group; the empty string for none. */
  group_uid: string;
  time: string;
  /** `internal` reaches nobody; `test` only the subscription that is its subject. */
  audience: "customer" | "internal" | "test";
  /** Full proto name of the body message. */
  body_type: string;
  /** Extension attributes beside group, audience and bodytype, as a JSON object of strings. */
  extensions: string;
  /** The delivery's body: `{"actor":…,"body":…}`. */
  data: string;
  /** Given out after the commit, without gaps in what a reader sees; null until then. */
  position: number | null;
}

/** A subscription has no name of its own; the column is the empty string. */
export interface SubscriptionTable extends ResourceTable {
  sink: string;
}

/** How deliveries to a subscription are doing, and who makes them: one server at a time, in the order of events. */
export interface SubscriptionQueueTable {
  subscription_uid: string;
  /** When there is something to send, at the earliest; null where nothing is pending. */
  next_time: string | null;
  /** Until when nothing is sent because the sink is in trouble, or asked for it; null for none. No `next_time` is set before it. */
  hold_time: string | null;
  /** Attempts that failed since the last one that succeeded. */
  failures: number;
  /** When the first of those was. */
  failing_time: string | null;
  /** Set while nothing is sent until somebody resumes it. */
  pause_time: string | null;
  pause_reason: string;
  /** The server that sends until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** One event on its way to one subscription. It may outlive the subscription for a while. */
export interface DeliveryTable {
  subscription_uid: string;
  /** Of the event in the outbox. */
  position: number;
  event_id: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  create_time: string;
  /** When a pending one is to be tried; null otherwise. New ones are due at once, so that the order of this time, then of positions, is the order to send in. */
  next_attempt_time: string | null;
  first_attempt_time: string | null;
  last_attempt_time: string | null;
  /** HTTP status of the last answer; 0 where there was none. */
  status_code: number;
  /** What was wrong with the last attempt; empty where nothing was. */
  error: string;
  latency_ms: number;
}

/** Holt's own signing keys, newest first by create_time. */
export interface SigningKeyTable {
  kid: string;
  private_jwk: string;
  public_jwk: string;
  create_time: string;
  /** When a newer key took over; the key stays published for 24 h after that. */
  retire_time: string | null;
}

/** Small facts of the installation: names of secrets and of the bootstrap resources. */
export interface ServerStateTable {
  name: string;
  value: string;
}

export interface RefreshTokenTable {
  /** SHA-256 of the token, hexadecimal: the token itself is not stored. */
  token_hash: string;
  /** All tokens rotated from one login share it; reuse of a spent one revokes the family. */
  family: string;
  identity_uid: string;
  /** JSON: what the login's access tokens carry (actor, email, profile) and may narrow to. */
  grant_json: string;
  create_time: string;
  expire_time: string;
  spent_time: string | null;
}

export interface IdentityMetadataTable {
  uid: string;
  body: string;
  update_time: string;
}

/** PostgreSQL only: whose rights a transaction changed, for the other servers' caches. `identity_uid` `*` means everybody's. */
export interface AccessChangeTable {
  seq: Generated<number>;
  identity_uid: string;
  create_time: Generated<string>;
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

/** Content that the blob store has. */
export interface BlobTable {
  digest: string;
  size: number;
  create_time: string;
  /** Set while collection removes the content, which may be gone already: no repo may link it then. After this time whoever removes it has given up. */
  removal_time: string | null;
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

/** An organization's own sign-in. Its secret is nowhere but in its column. */
export interface IdentityProviderTable extends ResourceTable {
  issuer: string;
  client_id: string;
  /** Sealed (auth/secrets.ts); the empty string for none. */
  client_secret: Generated<string>;
  /** Uid of the role that its users begin with; that role may be gone. */
  default_role: string;
  /** Counts the changes of what signing in depends on: issuer, client id, groups claim. */
  version: Generated<number>;
}

/** A mapping has no name of its own; the column is the empty string. Its parent is an identity provider. */
export interface ExternalGroupRoleMappingTable extends ResourceTable {
  external_group: string;
  role_uid: string;
  /** Uid of the group at which the role is given. */
  scope: string;
}

/** What a directory provisions with, of identity providers that ever had a token: hashes only (SHA-256, hexadecimal). */
export interface ScimTokenTable {
  idp_uid: string;
  /** 1 where provisioning is accepted. */
  enabled: number;
  /** Another one after every change. */
  etag: string;
  /** Null once it is revoked. */
  token_hash: string | null;
  /** Null for a token that never expires. */
  expire_time: string | null;
  /** Of the token before this one, while it may still be used. */
  previous_token_hash: string | null;
  previous_expire_time: string | null;
  /** When the tokens were revoked; null where there is a token. */
  revoke_time: string | null;
}

/** An invite has no name of its own; the column is the empty string. */
export interface GroupInviteTable extends ResourceTable {
  role_uid: string;
  key_id: string;
  expiration_time: string;
  /** SHA-256 of the code, hexadecimal: the code itself is not stored. */
  code_hash: string | null;
}

/** Its uid is that of the group it belongs to, of which it is the only one. */
export interface AccountAssociationTable extends ResourceTable {}

export interface TermsAcceptanceTable {
  org_uid: string;
  doc_id: string;
  /** Uid of the identity. */
  accepted_by: string;
  create_time: string;
}

/** The last time that somebody asked to be let into an organization. */
export interface AccessRequestTable {
  group_uid: string;
  identity_uid: string;
  email: string;
  create_time: string;
}

/** What an ecosystem calls a package, a project or an artifact, in one group's library. */
export interface LibraryArtifactTable extends ResourceTable {
  /** Number of Ecosystem. */
  ecosystem: number;
  /** The name as its ecosystem compares names: for Python normalised (PEP 503). */
  key: string;
  /** Sort key of `latestVersion`. */
  latest_sort_key: string;
  /** 1 where any version is remediated. */
  remediated: number;
  /** Grows with every change, so that an index page's ETag does. */
  serial: number;
}

/** One, two or three characters in a row of a lower-case name, for search. */
export interface LibraryArtifactGramTable {
  gram: string;
  ecosystem: number;
  artifact_uid: string;
  /** All of it, in lower case. */
  name: string;
}

export interface LibraryVersionTable {
  uid: string;
  artifact_uid: string;
  /** As it was published. */
  version: string;
  /** Sorts versions as their ecosystem does. */
  sort_key: string;
  create_time: string;
  update_time: string;
  description: string;
  /** Of all files. */
  size_bytes: number;
  /** `12.1`, where the version is built for it. */
  cuda_version: string | null;
  /** 1 where it says of itself that vulnerabilities were patched in it. */
  remediated: number;
  /** Set while the version is not to be chosen by who does not name it (PEP 592). */
  yank_time: string | null;
  yank_reason: string;
}

/** One file of a version; its bytes are a blob. */
export interface LibraryFileTable {
  artifact_uid: string;
  version_uid: string;
  /** File name; for Java the path below the artifact's folder: `1.0/lib-1.0.jar`. */
  path: string;
  digest: string;
  size: number;
  /** Hexadecimal, as are the other two. */
  sha1: string;
  md5: string;
  sha512: string;
  /** What the ecosystem's protocol tells of it, as a JSON object. */
  metadata: string;
  create_time: string;
  /** Uid of the identity that published it. */
  actor: string;
  /** 1 where the file makes its artifact a plugin, which clients find by a prefix. */
  plugin: Generated<number>;
}

/** An account in a company's directory. What its rows mean for rights is auth/scim-record.ts. */
export interface ScimUserTable {
  id: string;
  idp_uid: string;
  /** As the directory calls it; by this it is known again at a login. */
  external_id: string | null;
  /** In small letters: compared without regard to case. As it was given, it is in the body. */
  user_name: string;
  /** 0 for who is not let in, in particular for who was deleted. */
  active: number;
  create_time: string;
  update_time: string;
  /** Set once it is deleted: it exists no longer for the directory, but that its person has left stays known. */
  delete_time: string | null;
  version: number;
  /** The SCIM resource without id, meta and groups. */
  body: string;
}

/** Whom accounts of a directory stand for, whether it has provisioned them or not. */
export interface ScimIdentityTable {
  idp_uid: string;
  /** Of the account; at a login, what the provider's correlation rule compares with it. */
  external_id: string;
  identity_uid: string;
  /** When it first logged in through the identity provider; null where it only follows from the external id so far. */
  login_time: string | null;
}

export interface ScimGroupTable {
  id: string;
  idp_uid: string;
  external_id: string | null;
  /** In small letters. As it was given, it is in the body. */
  display_name: string;
  create_time: string;
  update_time: string;
  version: number;
  /** The SCIM resource without id, meta and members. */
  body: string;
}

export interface ScimGroupMemberTable {
  group_id: string;
  user_id: string;
}

/** A login in a browser that is under way. */
export interface SignInTable {
  /** SHA-256 of the one-time text by which its next step names it, hexadecimal: OAuth's `state`, then what the page's form holds. */
  handle_hash: string;
  /** SHA-256 of the cookie of the browser that began it. */
  browser_hash: string;
  /** `upstream` while the person is at the provider, `confirm` while a page asks. */
  stage: "upstream" | "confirm";
  /** JSON, sealed (auth/secrets.ts). */
  content: string;
  create_time: string;
  expire_time: string;
}

/** A finished login that waits to be fetched by the program whose key it is encrypted for. */
export interface HeadlessSessionTable {
  /** The program's public key, by which it asks. */
  code: string;
  ecdh_public_key: string;
  /** base64. */
  encrypted_idtoken: string;
  expire_time: string;
}

/** A device that waits for a person to sign it in (RFC 8628). */
export interface DeviceLoginTable {
  /** SHA-256 of the device code, hexadecimal. */
  device_hash: string;
  /** Without its hyphen. */
  user_code: string;
  client_id: string;
  state: "pending" | "approved" | "denied";
  identity_uid: string | null;
  /** JSON: what the login gave, once it is approved. */
  login: string | null;
  poll_time: string | null;
  interval_seconds: number;
  create_time: string;
  expire_time: string;
}

/** Who has logged in through an identity provider before: its default role is given at the first time only. */
export interface ProviderLoginTable {
  idp_uid: string;
  identity_uid: string;
  create_time: string;
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

/** How far the packages of a manifest are read: of an image, or of what brings SBOMs of one. It follows from its bytes, so it is the same for all repos that have it. */
export interface ImageScanTable {
  /** Of a manifest that is no index. */
  digest: string;
  state: "pending" | "done" | "failed";
  attempts: number;
  /** Until when a server is at it; null for none. */
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
  /** Staged file of the fetch under way, which also names who fetches; null for none. */
  file: string | null;
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

export interface Schema {
  image_scan: ImageScanTable;
  image_wait: ImageWaitTable;
  image_turn: ImageTurnTable;
  image_package: ImagePackageTable;
  package_origin: PackageOriginTable;
  index_platform: IndexPlatformTable;
  advisory: AdvisoryTable;
  advisory_count: AdvisoryCountTable;
  advisory_change: AdvisoryChangeTable;
  advisory_people_count: AdvisoryPeopleCountTable;
  advisory_alias: AdvisoryAliasTable;
  advisory_term: AdvisoryTermTable;
  advisory_suffix: AdvisorySuffixTable;
  vulnerability: VulnerabilityTable;
  advisory_mirror: AdvisoryMirrorTable;
  advisory_mirror_run: AdvisoryMirrorRunTable;
  advisory_import: AdvisoryImportTable;
  advisory_import_part: AdvisoryImportPartTable;
  advisory_import_problem: AdvisoryImportProblemTable;
  sign_in: SignInTable;
  headless_session: HeadlessSessionTable;
  device_login: DeviceLoginTable;
  provider_login: ProviderLoginTable;
  scim_user: ScimUserTable;
  scim_identity: ScimIdentityTable;
  scim_group: ScimGroupTable;
  scim_group_member: ScimGroupMemberTable;
  identity_provider: IdentityProviderTable;
  external_group_role_mapping: ExternalGroupRoleMappingTable;
  scim_token: ScimTokenTable;
  repo: RepoTable;
  repo_readme: RepoReadmeTable;
  tag: TagTable;
  blob: BlobTable;
  repo_blob: RepoBlobTable;
  manifest: ManifestTable;
  manifest_reference: ManifestReferenceTable;
  image: ImageTable;
  tag_history: TagHistoryTable;
  upload: UploadTable;
  group: GroupTable;
  identity: IdentityTable;
  role: RoleTable;
  role_binding: RoleBindingTable;
  resource_count: ResourceCountTable;
  outbox: OutboxTable;
  subscription: SubscriptionTable;
  subscription_queue: SubscriptionQueueTable;
  library_artifact: LibraryArtifactTable;
  library_artifact_gram: LibraryArtifactGramTable;
  library_version: LibraryVersionTable;
  library_file: LibraryFileTable;
  delivery: DeliveryTable;
  signing_key: SigningKeyTable;
  server_state: ServerStateTable;
  refresh_token: RefreshTokenTable;
  identity_metadata: IdentityMetadataTable;
  access_change: AccessChangeTable;
  group_invite: GroupInviteTable;
  account_association: AccountAssociationTable;
  terms_acceptance: TermsAcceptanceTable;
  access_request: AccessRequestTable;
}

/** Tables of resources, the ones the resource engine works on. */
export type ResourceTableName =
  | "group"
  | "identity"
  | "role"
  | "role_binding"
  | "repo"
  | "tag"
  | "subscription"
  | "identity_provider"
  | "external_group_role_mapping"
  | "group_invite"
  | "account_association"
  | "library_artifact"
  | "advisory"
  | "advisory_mirror";
