/**
 * The interface of the database. A read handle cannot write, by its type and by its connection. A write handle exists
 * only inside `Store.transaction`.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { CompiledQuery, Kysely, QueryExecutorProvider } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";
import type { WalControl } from "./wal-control.ts";

export interface ReadDb extends QueryExecutorProvider, Pick<Kysely<Schema>, "selectFrom" | "selectNoFrom" | "with" | "fn"> {
  readonly dialect: Dialect;
}

export interface WriteDb extends ReadDb, Pick<Kysely<Schema>, "insertInto" | "updateTable" | "deleteFrom"> {
  /**
   * Runs a statement whose result the transaction does not need. PostgreSQL gets it together with the next statement or
   * with the commit: if it fails, one of those fails with its error, or the transaction does.
   * @param errorFor the error to fail with in place of the statement's own, such as that a name is taken
   */
  append(query: CompiledQuery, errorFor?: (error: unknown) => unknown): Promise<void>;
  /** Runs `action` once, after the transaction is durable; never if it fails. `action` must not throw. */
  afterCommit(action: () => void): void;
  readonly audit: AuditNotes;
}

/** Notes of a transaction for its audit entry. */
export interface AuditNotes {
  /** Whether the owner of the transaction appends one entry for all of it. Other code then appends none. */
  isCovered: boolean;
  /** Uid of the identity that a call without a principal has authenticated. */
  actor?: string;
  /** Content of an entry that waits for a statement that takes it along. */
  waiting?: string;
  readonly changes: ResourceChange[];
}

/** A resource that a transaction has created, changed or deleted, as JSON; with a schema, as canonical proto-JSON. */
export interface ResourceChange {
  /** Message name, such as `Group`. */
  readonly kind: string;
  readonly uid: string;
  /** Names the fields that are secret; undefined if none is. */
  readonly schema?: DescMessage | undefined;
  /** Undefined for a new resource. */
  readonly before?: string | undefined;
  /** Undefined for a deleted resource. */
  readonly after?: string | undefined;
}

export interface TransactionOptions {
  /** For migrations: a statement may take longer than requests wait. */
  readonly hasNoTimeLimit?: boolean;
}

export interface Store extends AsyncDisposable {
  readonly dialect: Dialect;
  /** Each statement sees the rows that were committed when it started. */
  readonly reader: ReadDb;
  /**
   * Runs `work` in one transaction and resolves when it is durable. If `work` throws, the transaction is rolled back
   * and the error is rethrown. Conflicts (PostgreSQL 40001, 40P01) are retried, so `work` must have no effects outside
   * `db`.
   * @throws UNAVAILABLE if the database cannot be used; the message says so if the outcome is unknown
   */
  transaction<T>(work: (db: WriteDb) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Runs several reads on one consistent snapshot. */
  snapshot<T>(work: (db: ReadDb) => Promise<T>): Promise<T>;
  /** Resolves if the database responds and stores changes. @throws UNAVAILABLE if it does not */
  ping(): Promise<void>;
  /** Size and load of the database, for metrics. */
  usage(): Promise<DatabaseUsage>;
  /** Undefined for a database that manages its files itself, and for an SQLite file that cannot shrink. */
  readonly freePages?: FreePages | undefined;
  /** Only for an SQLite file whose write-ahead log is archived. */
  readonly wal?: WalControl | undefined;
}

export interface DatabaseUsage {
  /** Size of the database. */
  readonly bytes: number;
  /** Size of the write-ahead log; undefined if PostgreSQL does not tell this role. */
  readonly walBytes: number | undefined;
  /** Transactions that wait for the single writer of SQLite. */
  readonly waitingWrites?: number;
  /** Connections of PostgreSQL. */
  readonly pools?: readonly PoolUsage[];
}

export interface PoolUsage {
  readonly pool: "read" | "write";
  readonly open: number;
  readonly idle: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
}

/** The pages of a database file that hold nothing since rows were deleted. */
export interface FreePages {
  count(): Promise<{ readonly free: number; readonly total: number }>;
  /** Releases at most this number of them to the file system, in one transaction. The file shrinks with a later checkpoint. */
  release(pages: number): Promise<void>;
}
