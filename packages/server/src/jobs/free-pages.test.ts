import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { openDatabase } from "../cli/open-installation.ts";
import { sqlitePath } from "../db/open.ts";
import { openSqlite } from "../db/sqlite.ts";
import type { FreePages, Store } from "../db/store.ts";
import { createLog } from "../lib/log.ts";
import { releasePages } from "./free-pages.ts";

let dataDir: string;
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "holt-pages-"));
});
after(() => rm(dataDir, { recursive: true }));

const pagesOf = ({ freePages }: Store): FreePages => {
  assert.ok(freePages);
  return freePages;
};

async function fill(store: Store, rows: number): Promise<void> {
  await store.transaction(async (db) => {
    for (let row = 0; row < rows; row++)
      await db
        .insertInto("server_state")
        .values({ name: `row ${row}`, value: "x".repeat(3500) })
        .execute();
  });
}

test("unused pages go back to the file system while others read and write, and some stay for the next writes", async () => {
  await using store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
  await fill(store, 4000);
  await store.transaction((db) => db.deleteFrom("server_state").where("name", "like", "row %").execute());
  const { free } = await pagesOf(store).count();
  assert.ok(free > 3900, `${free}`);
  const chunks: number[] = [];
  const watched: FreePages = {
    count: () => pagesOf(store).count(),
    async release(pages) {
      chunks.push(pages);
      await pagesOf(store).release(pages);
      // A transaction of somebody else, between two chunks.
      await store.transaction((db) =>
        db
          .insertInto("server_state")
          .values({ name: `during ${chunks.length}`, value: "" })
          .execute(),
      );
    },
  };
  await releasePages(watched);
  assert.ok(chunks.length > 10 && Math.max(...chunks) <= 64, String(chunks));
  const left = await pagesOf(store).count();
  assert.ok(left.free >= 950 && left.free <= 1000, `${left.free}`);
  const rows = await store.reader.selectFrom("server_state").select("name").where("name", "like", "during %").execute();
  assert.equal(rows.length, chunks.length);
  await releasePages(watched);
  assert.equal(chunks.length, rows.length);
});

test("the file is smaller after the store is closed", async () => {
  const { size } = await stat(sqlitePath(dataDir));
  assert.ok(size < 8_000_000, `${size}`);
});

test("releasing stops between two chunks when the server stops", async () => {
  await using store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
  await fill(store, 2000);
  await store.transaction((db) => db.deleteFrom("server_state").where("name", "like", "row %").execute());
  const stop = new AbortController();
  let chunks = 0;
  const pages: FreePages = {
    count: () => pagesOf(store).count(),
    async release(count) {
      if (++chunks === 3) stop.abort();
      await pagesOf(store).release(count);
    },
  };
  await releasePages(pages, stop.signal);
  assert.equal(chunks, 3);
});

test("a file that cannot shrink has no pages to release", async () => {
  {
    using database = new DatabaseSync(sqlitePath(dataDir));
    database.exec("pragma auto_vacuum = none; vacuum");
  }
  await using store = await openSqlite(sqlitePath(dataDir), createLog("silent"));
  assert.equal(store.freePages, undefined);
});
