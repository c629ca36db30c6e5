/**
 * Declares every difference between SQLite and PostgreSQL that queries and migrations depend on. sqlite-dialect.ts and
 * postgres-dialect.ts define it. Connections and errors are handled by the stores.
 */
import type { DialectAdapter, QueryCompiler, RawBuilder, SelectQueryBuilder } from "kysely";

/** An SQL condition. */
export type Bool = RawBuilder<boolean>;

/** @param of the table whose rows are locked, if not those of all */
type Locked = <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>, of?: TB & string) => SelectQueryBuilder<DB, TB, O>;

/** SQL fragments for migrations, where the databases differ. */
export interface ColumnTypes {
  /** Text sorted by bytes, the order of SQLite, of uids and of page tokens. */
  readonly text: string;
  readonly integer: string;
  /** 64 bits in the database, but a number in JavaScript, so at most 2^53. */
  readonly bigint: string;
  /** A Uint8Array, when written and when read. */
  readonly bytes: string;
  /** An ever-growing primary key. */
  readonly sequence: string;
  /** Table options, after the closing parenthesis, for short rows that are updated often. */
  readonly hotTable: string;
  /** Table options for rows with few columns besides the key, so that the key is stored once. */
  readonly keyTable: string;
}

/** Column types of `rowsOf`; every column may hold null. */
export type RowColumns<T> = { readonly [K in keyof T & string]: "text" | "bigint" };

export interface Dialect {
  readonly name: "sqlite" | "postgres";
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
  readonly types: ColumnTypes;
  /**
   * Locks the selected rows against update and delete until the transaction ends. SQLite runs one transaction at a
   * time.
   */
  readonly forUpdate: Locked;
  /** For rows about to be deleted: like `forUpdate`, and locks them against new references too. */
  readonly forDelete: Locked;
  /** Locks the selected rows against update and delete; several transactions may hold this lock. */
  readonly forShare: Locked;
  /** Locks the selected rows against delete only; several transactions may hold this lock. */
  readonly forKeyShare: Locked;
  /** Like `forUpdate`, but skips rows that are already locked, so that workers claim different rows of a queue. */
  readonly forClaim: Locked;
  /** The column as an expression for which SQLite uses no index. PostgreSQL decides by its statistics. */
  unindexed<T>(column: string): RawBuilder<T>;
  /**
   * Like `unindexed`, for a text column that often matches: PostgreSQL assumes that the values of a list parameter are
   * rare.
   */
  frequent<T>(column: string): RawBuilder<T>;
  /** The table, with the index that SQLite must use. Without statistics SQLite would prefer the primary key. */
  readBy(table: string, index: string): RawBuilder<unknown>;
  /**
   * `select column from outer, inner where condition` as a nested loop: one lookup in the inner table per row of the
   * outer one. Planner statistics do not help with values that are unknown when the query is planned.
   * @param condition on the inner table; it may refer to columns of the outer one
   */
  lookUp(
    column: RawBuilder<unknown>,
    outer: RawBuilder<unknown>,
    inner: RawBuilder<unknown>,
    condition: RawBuilder<boolean>,
  ): RawBuilder<unknown>;
  /**
   * Whether a sorted union reads a select along the index of its order, and only until the limit is reached. PostgreSQL might sort all
   * rows of that select.
   */
  readonly mergesInOrder: boolean;
  /**
   * Case-insensitive LIKE on ASCII text, with backslash as the escape character. PostgreSQL can estimate it from
   * statistics.
   */
  isLike(text: RawBuilder<unknown>, pattern: string): RawBuilder<boolean>;
  /** Whether a uid is in the result of a query. PostgreSQL looks up each result, because there are few of them. */
  isAmong(uid: RawBuilder<unknown>, selected: RawBuilder<unknown>): RawBuilder<boolean>;
  /**
   * Whether a row below the group is its direct child, for scans of an index without the parent. SQLite decides by the
   * uid in the index, without reading the row. PostgreSQL has statistics on the parent column, but not on expressions.
   */
  isChildOf(uid: string): RawBuilder<boolean>;
  /**
   * A table with one text column `value`, for `selectFrom(valuesOf(list).as("v"))`. The list is one parameter, so lists
   * of any length share a prepared statement.
   */
  valuesOf(list: readonly string[]): RawBuilder<{ value: string }>;
  /** A table of these rows, for `from(rowsOf(list, columns).as("r"))`. The rows are one parameter, as in `valuesOf`. */
  rowsOf<T extends object>(list: readonly T[], columns: RowColumns<T>): RawBuilder<T>;
  /** The values as the text of a JSON array, which is always the same for the same values. */
  jsonOf(values: readonly RawBuilder<unknown>[]): RawBuilder<string>;
  /** The values of all rows as the text of a JSON array, an aggregate; null for no rows on PostgreSQL. */
  jsonOfAll(value: RawBuilder<unknown>): RawBuilder<string | null>;
  /** Whether the bytes contain these others, at any position. */
  containsBytes(bytes: RawBuilder<unknown>, part: unknown): RawBuilder<boolean>;
  /** The bytes of a text as UTF-8, whatever the encoding of the database. */
  utf8Bytes(text: RawBuilder<unknown>): RawBuilder<number>;
  /** A JSON text as the left operand of `->` and `->>`. */
  asJson(text: RawBuilder<unknown>): RawBuilder<unknown>;
  /** Whether queries run in this process and block it. */
  readonly isInProcess: boolean;
  /**
   * Maximum rows per INSERT, a power of two, so that a few statement lengths stay prepared. SQLite is fastest with one
   * row per statement, which the connection repeats (db/repeated.ts).
   */
  readonly rowsPerInsert: number;
  /**
   * The order of the rows that a statement selects and inserts, by so many columns. Transactions that insert the same rows in
   * different orders would deadlock. Empty where one transaction at a time writes.
   */
  insertOrder(columns: number): RawBuilder<unknown>;
  /** The placeholder of a parameter in SQL text, counted from 1. */
  placeholder(number: number): string;
  /**
   * The slot of each count that this transaction updates. Backends use different slots, so writers seldom wait for each
   * other.
   */
  readonly countSlot: RawBuilder<number>;
  /**
   * Statements that make PostgreSQL vacuum a queue table early. Its rows change once, in order, and an index of the
   * pending rows must not fill up with dead entries.
   */
  vacuumEarly(table: string): readonly string[];
  /** Query of the names of all tables, as `name`. */
  readonly tableNames: string;
  /** Query of the columns of all tables in their order, as rows of `TableColumn` in db/table-columns.ts. */
  readonly tableColumns: string;
  /** Query of the encoding of the database's texts, as `encoding`. */
  readonly encoding: string;
  /** Statements that serialize concurrent migrations. SQLite's transactions already do so. */
  readonly migrationLock: readonly string[];
  /**
   * Query of two transaction ids. All transactions with ids below `oldest` have ended. A transaction that has no id yet will get `next`
   * or a greater one. Undefined where one transaction at a time writes.
   */
  readonly transactionIds: RawBuilder<{ oldest: string; next: string }> | undefined;
  /** Notifies listeners when this transaction commits; undefined where only one server uses the database. */
  readonly notify: ((channel: string) => RawBuilder<unknown>) | undefined;
}
