/** The dialect of PostgreSQL. */
import { PostgresAdapter, PostgresQueryCompiler, type RawBuilder, sql } from "kysely";
import type { Dialect, RowColumns } from "./dialect.ts";
import { jsonWithoutNul } from "./nul.ts";
import { computed } from "./placeholder.ts";

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
  mergesInOrder: false,
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
  encoding: "select current_setting('server_encoding') as encoding",
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
