/** Every difference between SQLite and PostgreSQL that a query or a migration can meet, and the only place for them; connections and errors are the drivers'. */
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

type Locked = <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>) => SelectQueryBuilder<DB, TB, O>;

/** What a migration writes where the databases spell it differently. */
export interface ColumnTypes {
  /** Text in byte order, which is the order of SQLite, of uids and of page tokens. */
  readonly text: string;
  readonly integer: string;
  /** 64 bits in the database; a number in JavaScript, so no more than 2^53. */
  readonly bigint: string;
  /** A Uint8Array, in and out. */
  readonly bytes: string;
  /** A primary key that only grows. */
  readonly sequence: string;
  /** After the closing parenthesis of a table of short rows that are updated much. */
  readonly hotTable: string;
  /** The same of a table that is hardly more than its key, so that it is stored once. */
  readonly keyTable: string;
}

/** What the columns of rows are: null is possible in all of them. */
export type RowColumns<T> = { readonly [K in keyof T & string]: "text" | "bigint" };

export interface Dialect {
  readonly name: "sqlite" | "postgres";
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
  readonly types: ColumnTypes;
  /** Locks the selected rows against change and removal until the transaction ends. On SQLite a transaction is alone anyway. */
  readonly forUpdate: Locked;
  /** The same, and against being referred to by new rows: for rows about to be deleted. */
  readonly forDelete: Locked;
  /** Locks the selected rows against change and removal by others, who may hold the same lock. */
  readonly forShare: Locked;
  /** Locks the selected rows against removal only; any number of transactions may hold it at once. */
  readonly forKeyShare: Locked;
  /** The same as `forUpdate`, leaving out the rows that somebody else has locked: of those who take work from one table, each takes other rows. */
  readonly forClaim: Locked;
  /** The column as a term that SQLite uses no index for. PostgreSQL has statistics to decide by. */
  unindexed<T>(column: string): RawBuilder<T>;
  /** The same of a text column, for what is known to be met often: PostgreSQL knows nothing of values that come as a list, and takes them to be rare. */
  frequent<T>(column: string): RawBuilder<T>;
  /** The table, which SQLite reads by this index. It must not find out by itself: without statistics it takes a row's key for the better way. */
  readBy(table: string, index: string): RawBuilder<unknown>;
  /**
   * `select column from outer, inner where condition`, done as a look into the inner table for each row of the outer one: what statistics say of
   * values that are not known yet is no help. @param condition on the inner table; it may name columns of the outer one
   */
  lookUp(
    column: RawBuilder<unknown>,
    outer: RawBuilder<unknown>,
    inner: RawBuilder<unknown>,
    condition: RawBuilder<boolean>,
  ): RawBuilder<unknown>;
  /** That a text of ASCII is like the pattern, in which a backslash escapes, in any case. As a term that PostgreSQL's statistics of the column know something of. */
  isLike(text: RawBuilder<unknown>, pattern: string): RawBuilder<boolean>;
  /** That a uid is among those that a query selects. They are few, whatever PostgreSQL's statistics say: each is looked up. */
  isAmong(uid: RawBuilder<unknown>, selected: RawBuilder<unknown>): RawBuilder<boolean>;
  /**
   * That a row which lies below the group stands right in it, for a walk along an index that is not the parent's. SQLite tells by the uid, which that
   * index holds, and leaves the row unread. PostgreSQL's statistics know how many rows the parent has, and nothing of an expression.
   */
  isChildOf(uid: string): RawBuilder<boolean>;
  /** A table with one text column `value`, for `selectFrom(valuesOf(list).as("v"))`. One parameter however long the list, so one prepared statement. */
  valuesOf(list: readonly string[]): RawBuilder<{ value: string }>;
  /** A table of these rows, for `from(rowsOf(list, columns).as("r"))`; the columns are the keys of `columns`. One parameter, as with `valuesOf`. */
  rowsOf<T extends object>(list: readonly T[], columns: RowColumns<T>): RawBuilder<T>;
  /** The values as the text of a JSON array: of any one row it is the same text each time. */
  jsonOf(values: readonly RawBuilder<unknown>[]): RawBuilder<string>;
  /** Whether its queries run in this process, where nothing else happens meanwhile. */
  readonly isInProcess: boolean;
  /** How many rows a statement that inserts many takes at most, a power of two: few differ in length, so that they stay prepared. SQLite is fastest with one. */
  readonly rowsPerInsert: number;
  /** What stands for a parameter in a statement's text, from 1 on. */
  placeholder(number: number): string;
  /** Which of its slots a count is kept in by this transaction. Backends differ in it, so concurrent writers seldom wait for the same row. */
  readonly countSlot: RawBuilder<number>;
  /** For a table whose rows change once, in the order in which they came: an index of those that have not must not fill with those that have. */
  tidied(table: string): readonly string[];
  /** Makes whoever migrates wait for who migrates already. SQLite's transactions do so by themselves. */
  readonly migrationLock: readonly string[];
  /** Wakes those who listen, once this transaction commits; undefined where the database has but one server. */
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
  // A child's uid has one segment more, of 16 digits.
  isChildOf: (uid) => sql`length(uid) = ${sql.lit(uid.length + 17)}`,
  valuesOf: (list) => sql`json_each(${JSON.stringify(list)})`,
  rowsOf: (list, columns) => sql`(select ${fieldsOf(columns)} from json_each(${JSON.stringify(list)}))`,
  jsonOf: (values) => sql`json_array(${sql.join(values)})`,
  isInProcess: true,
  rowsPerInsert: 1,
  placeholder: () => "?",
  countSlot: sql.raw("0"),
  tidied: () => [],
  migrationLock: [],
  notify: undefined,
};

function fieldsOf(columns: object): RawBuilder<unknown> {
  return sql.join(Object.keys(columns).map((name) => sql`value ->> ${sql.lit(name)} as ${sql.ref(name)}`));
}

/** Any number that no other program uses for an advisory lock in our database. */
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
    // Room on each page keeps updates off the index, and dead rows go before they are many.
    hotTable: "with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)",
    keyTable: "",
  },
  // NO KEY: a plain FOR UPDATE would also stop children from being created, which no update of a row needs.
  forUpdate: (query) => query.forNoKeyUpdate(),
  forDelete: (query) => query.forUpdate(),
  forShare: (query) => query.forShare(),
  forKeyShare: (query) => query.forKeyShare(),
  forClaim: (query) => query.forNoKeyUpdate().skipLocked(),
  unindexed: (column) => sql`${sql.ref(column)}`,
  frequent: (column) => sql`(${sql.ref(column)} || '')`,
  readBy: (table) => sql.table(table),
  // With OFFSET it is a query of its own, which is not made part of the other.
  lookUp: (column, outer, inner, condition) =>
    sql`select l.* from ${outer} cross join lateral (select ${column} from ${inner} where ${condition} offset 0) as l`,
  isAmong: (uid, selected) => sql`${uid} = any(array(${selected}))`,
  isLike: (text, pattern) => sql`${text} ilike ${pattern} escape '\\'`,
  isChildOf: (uid) => sql`parent = ${uid}`,
  valuesOf: (list) => sql`(select u.value collate "C" as value from unnest(${list}::text[]) as u(value))`,
  rowsOf: (list, columns) => sql`(select * from json_to_recordset(${JSON.stringify(list)}::json) as t(${definitionsOf(columns)}))`,
  jsonOf: (values) => sql`json_build_array(${sql.join(values)})::text`,
  isInProcess: false,
  rowsPerInsert: 64,
  placeholder: (number) => `$${number}`,
  countSlot: sql.raw("pg_backend_pid() % 64"),
  // By default a fifth of the table may be dead, and indexes are left alone where that is little of it: they are read from their dead end.
  tidied: (table) => [`alter table ${table} set (autovacuum_vacuum_scale_factor = 0.02, vacuum_index_cleanup = on)`],
  // An index over many rows takes longer than any request may.
  migrationLock: ["set local lock_timeout = 0", "set local statement_timeout = 0", `select pg_advisory_xact_lock(${MIGRATION_LOCK})`],
  notify: (channel) => sql`select pg_notify(${channel}, '')`,
};

function definitionsOf(columns: RowColumns<object>): RawBuilder<unknown> {
  const { types } = postgresDialect;
  const definitions = Object.entries<"text" | "bigint">(columns).map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(types[type])}`);
  return sql.join(definitions);
}
