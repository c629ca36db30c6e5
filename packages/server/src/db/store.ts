/** The two handles on the database. A read handle cannot write, by its type and by its connection; a write handle exists only inside `Store.transaction`. */
import type { Kysely, QueryExecutorProvider } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";

export interface ReadDb extends QueryExecutorProvider, Pick<Kysely<Schema>, "selectFrom" | "selectNoFrom" | "with" | "fn"> {
  readonly dialect: Dialect;
}

export interface WriteDb extends ReadDb, Pick<Kysely<Schema>, "insertInto" | "updateTable" | "deleteFrom"> {
  /** Runs `action` once, after this transaction is durable; not at all when it fails. Must not throw. */
  afterCommit(action: () => void): void;
}

export interface Store extends AsyncDisposable {
  readonly dialect: Dialect;
  /** Each statement on its own sees what is committed when it starts. */
  readonly reader: ReadDb;
  /**
   * Runs `work` in one transaction and resolves when it is durable. What it throws rolls everything back and is thrown on.
   * A conflict with another transaction (PostgreSQL 40001, 40P01) is tried again, so `work` must have no effects outside `db`.
   */
  transaction<T>(work: (db: WriteDb) => Promise<T>): Promise<T>;
  /** Several reads that must see one moment. */
  snapshot<T>(work: (db: ReadDb) => Promise<T>): Promise<T>;
  /** Answers when the database does; rejects when it does not. */
  ping(): Promise<void>;
}
