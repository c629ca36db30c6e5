/** The SQL of the migrations and of the server needs few features that engines like PostgreSQL lack. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { postgresDialect } from "../../src/db/postgres-dialect.ts";
import { migrations } from "../../src/domains.ts";
import { assertPortable, featuresOf, NEEDED, recordStatements } from "../harness/sql-features.ts";
import { until } from "../harness/wait.ts";
import { startSampleWorld } from "./samples.ts";

const DOCUMENT = join(import.meta.dirname, "../../../../docs/scaling.md");

test("the SQL that is sent needs no other features than those that docs/scaling.md lists", async () => {
  const sent = recordStatements();
  {
    await using world = await startSampleWorld({ store: "postgres" });
    assert.equal((await world.http("GET", "/readyz")).status, 200);
    await until(() => [...sent].some((sql) => sql.includes("pg_snapshot_xmin")));
  }
  const statements = new Set([...sent, ...migrations.flatMap((migration) => migration.statements(postgresDialect))]);
  assertPortable(statements);
  const needed = new Set([...statements].flatMap((sql) => featuresOf(sql, NEEDED)));
  const document = readFileSync(DOCUMENT, "utf8");
  for (const feature of needed) assert.ok(document.includes(`| ${feature} |`), `docs/scaling.md does not list ${feature}`);
  for (const feature of ["LISTEN and pg_notify", "transaction ids and snapshots", "the collation C"])
    assert.ok(needed.has(feature), feature);
});

test("the lint finds features that Holt does without", () => {
  const statements = [
    "create extension pg_trgm",
    "create index i on t using gin (c)",
    "create constraint trigger x after insert on t deferrable for each row execute function f()",
    "select pg_advisory_lock(1)",
    "select xmin::text from t",
    "select * from t where ctid = '(0,1)'",
    "lock table t",
    "declare c cursor for select 1",
    "begin isolation level serializable",
    "create table t (a text) partition by range (a)",
  ];
  for (const sql of statements) assert.throws(() => assertPortable([sql]), sql);
  assertPortable(["select pg_snapshot_xmin(pg_current_snapshot())::text as xmin", "begin isolation level read committed read write"]);
});
