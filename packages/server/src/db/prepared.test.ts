import assert from "node:assert/strict";
import { test } from "node:test";
import { type CompiledQuery, sql } from "kysely";
import { createReadHandle } from "./handle.ts";
import { postgresDialect } from "./postgres-dialect.ts";
import { prepare, prepareEach } from "./prepared.ts";
import { sqliteDialect } from "./sqlite-dialect.ts";
import type { ReadDb } from "./store.ts";

/** A handle that records the statements. */
function recorder(dialect = sqliteDialect): { readonly db: ReadDb; readonly sent: CompiledQuery[] } {
  const sent: CompiledQuery[] = [];
  const db = createReadHandle(dialect, async (query) => {
    sent.push(query);
    return { rows: [] };
  });
  return { db, sent };
}

test("a prepared statement is built once and binds the values of each call", async () => {
  const { db, sent } = recorder();
  let builds = 0;
  const statement = prepare<{ uid: string; limit: number }, { name: string }>((built, param) => {
    builds++;
    return built
      .selectFrom("group")
      .select("name")
      .where("uid", "=", param("uid"))
      .where("name", "<>", "x")
      .limit(param("limit"))
      .compile();
  });
  await statement.rows(db, { uid: "a", limit: 1 });
  await statement.first(db, { uid: "b", limit: 2 });
  assert.equal(builds, 1);
  assert.deepEqual(
    sent.map(({ parameters }) => parameters),
    [
      ["a", "x", 1],
      ["b", "x", 2],
    ],
  );
  assert.equal(sent[0]?.sql, sent[1]?.sql);
  assert.match(sent[0]?.sql ?? "", /limit \?$/);
});

test("a prepared statement has a text for each store and gives lists the form of the store", async () => {
  const statement = prepare<{ uids: readonly string[] }, { uid: string }>((db, param) =>
    sql<{ uid: string }>`select value as uid from ${db.dialect.valuesOf(param("uids"))} as v`.compile(db),
  );
  const [sqlite, postgres] = [recorder(sqliteDialect), recorder(postgresDialect)];
  for (const { db } of [sqlite, postgres, sqlite]) await statement.rows(db, { uids: ["a", "b"] });
  await statement.rows(sqlite.db, { uids: [] });
  assert.deepEqual(
    sqlite.sent.map(({ parameters }) => parameters),
    [['["a","b"]'], ['["a","b"]'], ["[]"]],
  );
  assert.deepEqual(postgres.sent[0]?.parameters, [["a", "b"]]);
  assert.match(postgres.sent[0]?.sql ?? "", /\$1/);
});

test("a prepared statement refuses NUL in values and in lists", async () => {
  const statement = prepare<{ uid: string; uids: readonly string[] }, object>((db, param) =>
    sql<object>`select 1 from ${db.dialect.valuesOf(param("uids"))} as v where v.value = ${param("uid")}`.compile(db),
  );
  for (const dialect of [sqliteDialect, postgresDialect]) {
    const { db, sent } = recorder(dialect);
    await assert.rejects(statement.rows(db, { uid: "a\0", uids: [] }), /NUL/);
    await assert.rejects(statement.rows(db, { uid: "a", uids: ["b", "c\0"] }), /NUL/);
    assert.deepEqual(sent, []);
  }
});

test("a prepared statement binds null, and fails if a value is missing", async () => {
  const { db, sent } = recorder();
  const statement = prepare<{ name: string | null }, object>((built, param) => sql<object>`select ${param("name")} as name`.compile(built));
  await statement.rows(db, { name: null });
  assert.deepEqual(sent[0]?.parameters, [null]);
  await assert.rejects(statement.rows(db, {} as never), /no value for name/);
});

test("a statement whose text would depend on a value cannot be prepared", async () => {
  const { db } = recorder();
  const compared = prepare<{ uid: string }, object>((built, param) => sql<object>`select ${param("uid") < "m" ? 1 : 2}`.compile(built));
  await assert.rejects(compared.rows(db, { uid: "a" }), /depends on the value of uid/);
  const written = prepare<{ uid: string }, object>((built, param) => sql<object>`select ${sql.lit(`${param("uid")}`)}`.compile(built));
  await assert.rejects(written.rows(db, { uid: "a" }), /depends on the value of uid/);
});

test("statements of different keys do not mix, and the oldest is replaced when there are too many", async () => {
  const { db, sent } = recorder();
  const built: string[] = [];
  const each = prepareEach<string, { uid: string }, object>(
    (table) => (handle, param) => {
      built.push(table);
      return sql<object>`select 1 from ${sql.table(table)} where uid = ${param("uid")}`.compile(handle);
    },
    (table) => table,
    { capacity: 2 },
  );
  for (const table of ["a", "b", "a", "c", "a"]) await each(table).rows(db, { uid: table });
  assert.deepEqual(built, ["a", "b", "c", "a"]);
  assert.deepEqual(
    sent.map(({ sql: text, parameters }) => [/from "(\w)"/.exec(text)?.[1], parameters[0]]),
    ["a", "b", "a", "c", "a"].map((table) => [table, table]),
  );
});
