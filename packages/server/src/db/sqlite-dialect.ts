/** The dialect of SQLite. */
import { type RawBuilder, SqliteAdapter, SqliteQueryCompiler, sql } from "kysely";
import type { Dialect } from "./dialect.ts";
import { jsonWithoutNul } from "./nul.ts";
import { computed } from "./placeholder.ts";

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
  mergesInOrder: true,
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
  encoding: "select encoding from pragma_encoding",
  migrationLock: [],
  transactionIds: undefined,
  notify: undefined,
};

function fieldsOf(columns: object): RawBuilder<unknown> {
  return sql.join(Object.keys(columns).map((name) => sql`value ->> ${sql.lit(name)} as ${sql.ref(name)}`));
}
