/** Tests that lookups share round trips to PostgreSQL and do not affect each other. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { createMigratedDatabase } from "../../test/harness/migrated-database.ts";
import { openDatabase } from "../cli/open-installation.ts";
import { Code, HoltError } from "../lib/errors.ts";
import { createLog } from "../lib/log.ts";
import { PAGE, ROW, type Weight } from "./lookup.ts";
import { type Prepared, prepare } from "./prepared.ts";
import type { Store } from "./store.ts";

let store: Store;
before(async () => {
  store = await openDatabase({ url: await createMigratedDatabase(), dataDir: "", log: createLog("silent"), readers: 10 });
});
after(() => store[Symbol.asyncDispose]());

interface Answer {
  readonly value: number;
  readonly pid: number;
}

function lookup(text: string, weight: Weight = ROW): Prepared<{ value: number }, Answer> {
  const [head = "", tail = ""] = text.split("?");
  return prepare((db, param) => sql<Answer>`${sql.raw(head)}${param("value")}${sql.raw(tail)}`.compile(db), { weight });
}

const echo = lookup("select ?::int as value, pg_backend_pid() as pid");

test("lookups of one turn of the event loop share connections, and each gets its own rows", async () => {
  const values = Array.from({ length: 40 }, (_, value) => value);
  const rows = await Promise.all(values.map((value) => echo.first(store.reader, { value })));
  assert.deepEqual(
    rows.map((row) => row?.value),
    values,
  );
  assert.equal(new Set(rows.map((row) => row?.pid)).size, 3);
});

test("a page takes the place of four rows on a connection", async () => {
  const page = lookup("select ?::int as value, pg_backend_pid() as pid", PAGE);
  const rows = await Promise.all(Array.from({ length: 9 }, (_, value) => page.first(store.reader, { value })));
  assert.equal(new Set(rows.map((row) => row?.pid)).size, 3);
});

test("a lookup that fails leaves those before and behind it alone", async () => {
  const inverse = lookup("select 12 / ?::int as value, pg_backend_pid() as pid");
  const settled = await Promise.allSettled([3, 0, 4].map((value) => inverse.first(store.reader, { value })));
  assert.deepEqual(
    settled.map((one) => (one.status === "fulfilled" ? one.value?.value : one.reason.code)),
    [4, "22012", 3],
  );
});

test("lookups of one text that cannot be prepared all fail for its reason", async () => {
  const broken = lookup("select value, 0 as pid from no_such_table where value = ?");
  const settled = await Promise.allSettled([1, 2, 3].map((value) => broken.first(store.reader, { value })));
  assert.deepEqual(
    settled.map((one) => one.status === "rejected" && one.reason.code),
    ["42P01", "42P01", "42P01"],
  );
});

test("lookups on a connection that is lost are refused as unavailable, and later ones get another", async () => {
  const deadly = lookup("select pg_terminate_backend(pg_backend_pid())::int + ? as value, 0 as pid");
  const settled = await Promise.allSettled([deadly.first(store.reader, { value: 1 }), echo.first(store.reader, { value: 2 })]);
  for (const one of settled)
    assert.ok(one.status === "rejected" && one.reason instanceof HoltError && one.reason.code === Code.UNAVAILABLE);
  assert.equal((await echo.first(store.reader, { value: 3 }))?.value, 3);
});
