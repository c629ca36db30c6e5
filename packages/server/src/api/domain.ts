/**
 * The interface between the platform and its domains. A domain has one `domain.ts`, which exports a `Domain`: the facts that hold
 * without a running server. It has one `module.ts` with a function that starts the domain's part of a server.
 */
import type { RawBuilder } from "kysely";
import type { BlobReference } from "../blobs/references.ts";
import type { BlobStore } from "../blobs/store.ts";
import type { CountedRows } from "../db/count-check.ts";
import type { Migration } from "../db/migrate.ts";
import type { Schema } from "../db/schema.ts";
import type { Store } from "../db/store.ts";
import type { Mount } from "../http/mount.ts";
import type { ProtocolFrame } from "../http/protocol-frame.ts";
import type { RequestMemory } from "../http/request-memory.ts";
import type { TransportLimits } from "../http/transport-limits.ts";
import type { Parsers } from "../jobs/parsers.ts";
import type { JobQueue } from "../jobs/queue-usage.ts";
import type { Clock } from "../lib/clock.ts";
import type { Listeners } from "../lib/listeners.ts";
import type { Log } from "../lib/log.ts";
import type { Meter } from "../lib/meter.ts";
import type { Tracer } from "../lib/tracer.ts";
import type { VendorProfile } from "../lib/vendor-profile.ts";
import type { Mailer } from "../mail/mail.ts";
import type { EventNames } from "../outbox/outbox.ts";
import type { EventSubjects } from "../outbox/subject.ts";
import type { OrganizationTables } from "../transfer/organization-tables.ts";
import type { AttentionSource } from "./attention.ts";
import type { ServiceImplementation } from "./call/implement.ts";
import type { PageTokens } from "./resource/page-token.ts";
import type { SearchFinder, SearchSource } from "./search-source.ts";

export interface Domain {
  readonly name: string;
  readonly migrations: readonly Migration[];
  /** Rows that keep a group from being deleted, and rows that are deleted with it. */
  readonly onGroupDelete?: GroupDeletion;
  /** Rows that the counts of groups are about, so that a check can count them again. */
  readonly countedRows?: readonly CountedRows[];
  /** Says how the rows of its tables belong to organizations. */
  readonly organizationTables: OrganizationTables;
  /** Columns that keep blobs from being collected. */
  readonly blobReferences?: readonly BlobReference[];
  /** Names that the search finds. */
  readonly search?: readonly SearchSource[];
  /** Subjects of events whose message does not name its own uid. */
  readonly eventSubjects?: EventSubjects;
  /** Tables whose rows are work for background workers, for metrics. */
  readonly queues?: readonly JobQueue[];
}

export interface GroupDeletion {
  /** A group with such a child is not deleted. */
  readonly blockedBy?: readonly GroupChild[];
  /** Rows that are deleted with the group. They hold no resources, so nothing counts them. */
  readonly alsoDeletes?: readonly { readonly table: keyof Schema; readonly column: string }[];
}

/** A table whose rows name the group as their `parent`. */
export interface GroupChild {
  readonly table: keyof Schema;
  /** The plural that the refusal names, `child repos`; `child resources` by default. */
  readonly what?: string;
  /** Only rows that match count as children. */
  readonly where?: RawBuilder<boolean>;
}

/** The services and paths that a domain adds to a running server. */
export interface Served {
  readonly services?: readonly ServiceImplementation[];
  readonly mounts?: readonly Mount[];
  /** Things of the domain that may need the attention of administrators. */
  readonly attention?: readonly AttentionSource[];
  /** Names that the search finds, but not in a column of the domain. */
  readonly search?: readonly SearchFinder[];
}

/** The platform of a running server, as domains use it. */
export interface Platform {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the server reports metrics. */
  readonly meter: Meter;
  /** Where the server reports spans. */
  readonly tracer: Tracer;
  readonly profile: VendorProfile;
  /** Public URL of this server, without a trailing slash. */
  readonly baseUrl: string;
  /** Host of the registry, with its port if it has one. References to images name it. */
  readonly registryHost: string;
  /** Uid of the identity that this installation began with. It counts as staff everywhere. */
  readonly bootstrapOwner: string;
  readonly domains: readonly Domain[];
  /** The columns of all domains that keep blobs from being collected. */
  readonly blobReferences: readonly BlobReference[];
  readonly names: EventNames;
  /** Notified after each commit that appended an event. */
  readonly appendListeners: Listeners;
  /** Notified when any server that shares the PostgreSQL has made background work (db/servers.ts). */
  readonly workListeners: Listeners;
  readonly pageTokens: PageTokens;
  readonly limits: TransportLimits;
  readonly memory: RequestMemory;
  /** Sends mails to people. */
  readonly mailer: Mailer;
  /** `trusted_root.json` of Sigstore; empty if the operator has not configured one. */
  readonly trustedRoot: string;
  /** Parses content that callers supply. */
  readonly parsers: Parsers;
  /** Runs a protocol under the process's concurrency limit and logs its requests. */
  readonly frame: ProtocolFrame;
  /** Disposes of `resource` when the server stops, in reverse order. @returns the resource */
  own<T extends AsyncDisposable | Disposable>(resource: T): T;
}
