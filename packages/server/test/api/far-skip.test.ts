/** Lists that skip many rows have the same rows whether or not the table has rows that the caller does not see. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { create as createMessage } from "@bufbuild/protobuf";
import { ListReposRequestSchema, RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Access } from "../../src/access/capabilities.ts";
import type { Call } from "../../src/api/call/call.ts";
import { listPage } from "../../src/api/resource/list.ts";
import { createPageTokens } from "../../src/api/resource/page-token.ts";
import { insert } from "../../src/api/resource/write.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import type { ReadDb, Store } from "../../src/db/store.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";
import { repos } from "../../src/registry/resources.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";

const log = createLog("silent");
const pageTokens = createPageTokens(new Uint8Array(32));
const NOW = new Date("2026-01-01T00:00:00Z");
const REPOS = 470;
const ORDERS = ["name", "name desc", "create_time", "update_time desc", "uid"];
const SKIPS = [199, 205, 234, 236, 300, 466, 470, 500];

describe("far skips in SQLite", () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "holt-skips-"));
  });
  after(() => rm(dataDir, { recursive: true }));
  suite(() => openDatabase({ url: "", dataDir, log }));
});

describe("far skips in PostgreSQL", () => {
  suite(async () => openDatabase({ url: await createMigratedDatabase(), dataDir: "", log }));
});

function suite(open: () => Promise<Store>): void {
  let store: Store;
  let sent: string[] = [];
  let beforeSkip: () => Promise<void> = async () => {};
  let db: ReadDb;
  const organization = newUid("");
  const other = newUid("");

  before(async () => {
    store = await open();
    db = createReadHandle(store.dialect, async (query) => {
      sent.push(query.sql);
      if (query.sql.includes(" offset ")) await beforeSkip();
      return store.reader.getExecutor().executeQuery(query);
    });
    for (const uid of [organization, other]) {
      const row = { uid, parent: null, name: uid, create_time: "", update_time: "", verified: 0, body: "{}" };
      await store.transaction((write) => write.insertInto("group").values(row).execute());
    }
    for (let i = 0; i < REPOS; i++) await addRepo(organization, `r${String((i * 7) % REPOS).padStart(3, "0")}`, i);
  });
  after(() => store[Symbol.asyncDispose]());

  test("while the table has no other rows, they are skipped without a test of each, and the pages are right", async () => {
    await assertPages();
    sent = [];
    await list("create_time", 210);
    const skipping = sent.find((text) => text.includes(" offset "));
    assert.ok(skipping !== undefined && !skipping.includes(">="), skipping);
  });

  test("a row of another organization that is added during a list is not in its page", async () => {
    const wanted = await uidsInOrder("name");
    let isAdded = false;
    beforeSkip = async () => {
      if (!isAdded) await addRepo(other, "r215", 0);
      isAdded = true;
    };
    const page = await list("name", 205);
    beforeSkip = async () => {};
    assert.ok(isAdded);
    assert.deepEqual(page.uids(), wanted.slice(205, 225));
    assert.notEqual(page.nextPageToken, "");
  });

  test("rows of another organization between those of a list are in none of its pages", async () => {
    for (let i = 0; i < 20; i++) await addRepo(other, `r${i * 20}`, i * 10);
    await assertPages();
  });

  async function assertPages(): Promise<void> {
    for (const orderBy of ORDERS) {
      const wanted = await uidsInOrder(orderBy);
      for (const skip of SKIPS) {
        const first = await list(orderBy, skip);
        const label = `${orderBy}, skip ${skip}`;
        assert.deepEqual([first.uids(), first.totalCount], [wanted.slice(skip, skip + 20), REPOS], label);
        if (first.nextPageToken === "") continue;
        const next = await list(orderBy, 201, first.nextPageToken);
        assert.deepEqual(next.uids(), wanted.slice(skip + 221, skip + 241), `${label}, and 201 after the page`);
      }
    }
  }

  function list(orderBy: string, skip: number, pageToken = "") {
    const access = new Access(new Map([[organization, 1n]]));
    const operation = { name: "test/ListRepos", access: { mode: "unscoped", capabilities: 1n } };
    const call = { operation, access, principal: { uid: organization }, now: NOW, db } as unknown as Call;
    return listPage(repos, createMessage(ListReposRequestSchema, { orderBy, skip, pageToken, pageSize: 20 }), call, { pageTokens });
  }

  /** Several repos have the same times. */
  async function addRepo(parent: string, name: string, number: number): Promise<void> {
    const now = new Date(NOW.getTime() + 1000 * Math.floor(number / 8));
    await store.transaction((write) => insert(repos, newUid(parent), createMessage(RepoSchema, { name }), { now, db: write }));
  }

  async function uidsInOrder(orderBy: string): Promise<string[]> {
    const [column = "uid", direction = "asc"] = orderBy.split(" ");
    const rows = await store.reader
      .selectFrom("repo")
      .select("uid")
      .where("parent", "=", organization)
      .orderBy(column as "uid", direction as "asc")
      .orderBy("uid")
      .execute();
    return rows.map(({ uid }) => uid);
  }
}
