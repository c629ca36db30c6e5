/**
 * Holds every difference between SQLite and PostgreSQL that queries and migrations depend on. Connections and errors
 * are handled by the stores.
 */
import {
  type DialectAdapter,
  PostgresAdapter,
  PostgresQueryCompiler,
  type QueryCompiler,
  type RawBuilder,
  type SelectQueryBuilder,
  SqliteAdapter,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import { assertNoNul } from "./nul.ts";
import { computed } from "./placeholder.ts";

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
  /** Statements that serialize concurrent migrations. SQLite's transactions already do so. */
  readonly migrationLock: readonly string[];
  /**
   * Query of two transaction ids: all transactions with ids below `oldest` have ended, and those that have no id yet will get `next` or a
   * greater one. Undefined where one transaction at a time writes.
   */
  readonly transactionIds: RawBuilder<{ oldest: string; next: string }> | undefined;
  /** Notifies listeners when this transaction commits; undefined where only one server uses the database. */
  readonly notify: ((channel: string) => RawBuilder<unknown>) | undefined;
}

export const sqliteDialect: Dialect = {
  name: "sqlite",
  compiler: new SqliteQueryCompiler(),
  adapter: new SqliteAdapter(),
  types: {
    text: "text",
    integer: "integer",
    bigint: "integer",
    bytes: "blob",
    sequence: "integer primary key autoincrement",
    hotTable: "without rowid",
    keyTable: "without rowid",
  },
  forUpdate: (query) => query,
  forDelete: (query) => query,
  forShare: (query) => query,
  forKeyShare: (query) => query,
  forClaim: (query) => query,
  unindexed: (column) => sql`+${sql.ref(column)}`,
  frequent: (column) => sql`+${sql.ref(column)}`,
  readBy: (table, index) => sql`${sql.table(table)} indexed by ${sql.ref(index)}`,
  lookUp: (column, outer, inner, condition) => sql`select ${column} from ${outer} cross join ${inner} where ${condition}`,
  isAmong: (uid, selected) => sql`${uid} in (${selected})`,
  isLike: (text, pattern) => sql`${text} like ${pattern} escape '\\'`,
  // A child's uid has one more segment: a slash and 16 digits.
  isChildOf: (uid) => sql`length(uid) = ${computed(uid, (parent) => parent.length + 17)}`,
  valuesOf: (list) => sql`json_each(${computed(list, jsonWithoutNul)})`,
  rowsOf: (list, columns) => sql`(select ${fieldsOf(columns)} from json_each(${computed(list, jsonWithoutNul)}))`,
  jsonOf: (values) => sql`json_array(${sql.join(values)})`,
  jsonOfAll: (value) => sql`json_group_array(${value})`,
  containsBytes: (bytes, part) => sql`instr(${bytes}, ${part}) > 0`,
  utf8Bytes: (text) => sql`octet_length(${text})`,
  asJson: (text) => text,
  isInProcess: true,
  rowsPerInsert: 1,
  insertOrder: () => sql``,
  placeholder: () => "?",
  countSlot: sql.raw("0"),
  vacuumEarly: () => [],
  tableNames: "select name from sqlite_master where type = 'table'",
  tableColumns: `select t.name as "table", c.name as "column", c.type in ('blob', 'BLOB') as bytes, c.pk as key,
    c.pk = 1 and t.sql like '%integer primary key autoincrement%' as numbered
    from sqlite_master as t join pragma_table_xinfo(t.name) as c
    where t.type = 'table' and t.name not like 'sqlite_%' and c.hidden = 0 order by t.name, c.cid`,
  migrationLock: [],
  transactionIds: undefined,
  notify: undefined,
};

/** The list as a parameter. Its texts are subject to the same rule as texts that are parameters. @throws INVALID_ARGUMENT */
function jsonWithoutNul(list: readonly unknown[]): string {
  const json = JSON.stringify(list);
  // The escape may also follow an escaped backslash, so the texts decide.
  if (json.includes("\\u0000"))
    for (const element of list) assertNoNul(typeof element === "object" ? Object.values(element ?? {}) : [element]);
  return json;
}

function fieldsOf(columns: object): RawBuilder<unknown> {
  return sql.join(Object.keys(columns).map((name) => sql`value ->> ${sql.lit(name)} as ${sql.ref(name)}`));
}

/** Key of the advisory lock; arbitrary, but unique within the database. */
const MIGRATION_LOCK = 4_857_120_631;

export const postgresDialect: Dialect = {
  name: "postgres",
  compiler: new PostgresQueryCompiler(),
  adapter: new PostgresAdapter(),
  types: {
    text: 'text collate "C"',
    integer: "integer",
    bigint: "bigint",
    bytes: "bytea",
    sequence: "bigint generated always as identity primary key",
    // Free space on each page allows updates without index changes; early vacuuming keeps dead rows few.
    hotTable: "with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)",
    keyTable: "",
  },
  // A plain FOR UPDATE would also block the insertion of children; NO KEY does not.
  forUpdate: (query, of) => query.forNoKeyUpdate(of),
  forDelete: (query, of) => query.forUpdate(of),
  forShare: (query, of) => query.forShare(of),
  forKeyShare: (query, of) => query.forKeyShare(of),
  forClaim: (query) => query.forNoKeyUpdate().skipLocked(),
  unindexed: (column) => sql`${sql.ref(column)}`,
  frequent: (column) => sql`(${sql.ref(column)} || '')`,
  readBy: (table) => sql.table(table),
  // OFFSET 0 keeps PostgreSQL from merging the subquery into the outer query.
  lookUp: (column, outer, inner, condition) =>
    sql`select l.* from ${outer} cross join lateral (select ${column} from ${inner} where ${condition} offset 0) as l`,
  isAmong: (uid, selected) => sql`${uid} = any(array(${selected}))`,
  isLike: (text, pattern) => sql`${text} ilike ${pattern} escape '\\'`,
  isChildOf: (uid) => sql`parent = ${uid}`,
  valuesOf: (list) => sql`(select u.value collate "C" as value from unnest(${list}::text[]) as u(value))`,
  rowsOf: (list, columns) =>
    sql`(select * from json_to_recordset(${computed(list, jsonWithoutNul)}::json) as t(${definitionsOf(columns)}))`,
  jsonOf: (values) => sql`json_build_array(${sql.join(values)})::text`,
  jsonOfAll: (value) => sql`json_agg(${value})::text`,
  containsBytes: (bytes, part) => sql`position(${part} in ${bytes}) > 0`,
  utf8Bytes: (text) => sql`octet_length(convert_to(${text}, 'UTF8'))`,
  asJson: (text) => sql`(${text})::json`,
  isInProcess: false,
  rowsPerInsert: 64,
  insertOrder: (columns) => sql`order by ${sql.join(Array.from({ length: columns }, (_, at) => sql.lit(at + 1)))}`,
  placeholder: (number) => `$${number}`,
  countSlot: sql.raw("pg_backend_pid() % 64"),
  // By default PostgreSQL vacuums when a fifth of the table is dead, and skips indexes with few dead entries. Scans of
  // the queue begin at exactly those entries.
  vacuumEarly: (table) => [`alter table ${table} set (autovacuum_vacuum_scale_factor = 0.02, vacuum_index_cleanup = on)`],
  tableNames: "select tablename as name from pg_tables where schemaname = any (current_schemas(false))",
  tableColumns: `select t.relname as "table", c.attname as "column", (c.atttypid = 'bytea'::regtype)::int as bytes,
    coalesce(array_position(k.indkey::int2[], c.attnum) - array_lower(k.indkey::int2[], 1) + 1, 0) as key, (c.attidentity <> '')::int as numbered
    from pg_class as t join pg_attribute as c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped and c.attgenerated = ''
    left join pg_index as k on k.indrelid = t.oid and k.indisprimary
    where t.relkind = 'r' and t.relnamespace = current_schema()::regnamespace order by t.relname, c.attnum`,
  // Building an index over many rows takes longer than the timeouts of requests.
  migrationLock: ["set local lock_timeout = 0", "set local statement_timeout = 0", `select pg_advisory_xact_lock(${MIGRATION_LOCK})`],
  transactionIds: sql`select pg_snapshot_xmin(s)::text as oldest, pg_snapshot_xmax(s)::text as next from pg_current_snapshot() as s`,
  notify: (channel) => sql`select pg_notify(${channel}, '')`,
};

function definitionsOf(columns: RowColumns<object>): RawBuilder<unknown> {
  const { types } = postgresDialect;
  const definitions = Object.entries<"text" | "bigint">(columns).map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(types[type])}`);
  return sql.join(definitions);
}
