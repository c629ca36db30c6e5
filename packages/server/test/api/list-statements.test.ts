/** Lists of whole groups read a page and its total in one prepared statement, with the same rows as any other list. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { create as createMessage } from "@bufbuild/protobuf";
import { IdentitySchema, ListIdentitiesRequestSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { ListReposRequestSchema, RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { sql } from "kysely";
import { Access } from "../../src/access/capabilities.ts";
import type { Call } from "../../src/api/call/call.ts";
import { SEPARATOR } from "../../src/api/resource/bodies.ts";
import { listPage } from "../../src/api/resource/list.ts";
import { createPageTokens } from "../../src/api/resource/page-token.ts";
import { rootRowsOf } from "../../src/api/resource/selection.ts";
import { insert } from "../../src/api/resource/write.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import { appendToCount } from "../../src/db/resource-count.ts";
import type { ReadDb, Store } from "../../src/db/store.ts";
import { identities } from "../../src/iam/api/identities.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";
import { repos } from "../../src/registry/resources.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";

const log = createLog("silent");
const pageTokens = createPageTokens(new Uint8Array(32));
const REPOS = 30;
const NOW = new Date("2026-01-01T00:00:00Z");
/** Names with characters of several bytes, and with characters that JSON escapes. */
const AWKWARD = ["漢字", "ÿ", "😀, and more", 'a "quoted" \\ name', ',{"uid":"'];
const ORDERS = ["uid", "uid desc", "name", "name desc", "create_time", "update_time desc"] as const;

describe("statements of lists in SQLite", () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "holt-lists-"));
  });
  after(() => rm(dataDir, { recursive: true }));
  suite(() => openDatabase({ url: "", dataDir, log }));
});

describe("statements of lists in PostgreSQL", () => {
  suite(async () => openDatabase({ url: await createMigratedDatabase(), dataDir: "", log }));
});

function suite(open: () => Promise<Store>): void {
  let store: Store;
  let sent: string[];
  let db: ReadDb;
  const organization = newUid("");
  const other = newUid("");

  before(async () => {
    store = await open();
    db = createReadHandle(store.dialect, (query) => {
      sent.push(query.sql);
      return store.reader.getExecutor().executeQuery(query);
    });
    for (const group of [organization, other]) await insertGroup(group);
  });
  after(() => store[Symbol.asyncDispose]());

  test("the second page of a list and each one after it takes one statement, whatever the order", async () => {
    const group = await makeRepos(organization);
    const elsewhere = await makeRepos(other);
    for (const orderBy of ORDERS) {
      for (const [filter, wanted] of [
        [{ childrenOf: group.uid }, group.names],
        [{ descendantsOf: organization }, undefined],
        [{ descendantsOf: group.uid }, group.names],
      ] as const) {
        const seen: string[] = [];
        for (let pageToken = ""; ; ) {
          sent = [];
          const page = await list({ uidp: filter, orderBy, pageSize: 7, pageToken });
          if (pageToken !== "") assert.equal(sent.length, 1, `${orderBy}: ${sent.join("\n")}`);
          seen.push(...page.bodies.texts.map((body) => (JSON.parse(body) as { name: string }).name));
          assert.equal(page.totalCount, wanted === undefined ? await countBelow(organization) : REPOS);
          assert.deepEqual(
            page.bodies.texts.map((body) => (JSON.parse(body) as { uid: string }).uid),
            page.uids(),
          );
          pageToken = page.nextPageToken;
          if (pageToken === "") break;
        }
        assert.equal(new Set(seen).size, seen.length);
        const names = await namesInOrder(orderBy, wanted === undefined ? organization : group.uid);
        assert.deepEqual(seen, names);
        assert.ok(!seen.some((name) => elsewhere.names.includes(name)));
      }
    }
  });

  test("a list with visible rows in root has them in order and in its total, and no other caller's", async () => {
    const group = newUid(organization);
    await insertGroup(group, organization);
    for (let i = 0; i < REPOS; i++) await addIdentity(group, `i${(i * 7) % REPOS}`);
    const inRoot = [await addIdentity("", "a"), await addIdentity("", "i15-and-more"), await addIdentity("", "z")];
    for (const [caller, visible] of [
      ["first", inRoot.slice(0, 2)],
      ["second", inRoot.slice(1)],
    ] as const) {
      const rootRows = () => rowsInRoot(visible);
      for (const orderBy of ORDERS) {
        const wanted = await identitiesInOrder(orderBy, group, visible);
        const seen: string[] = [];
        for (let pageToken = ""; ; ) {
          sent = [];
          const page = await listPage(
            identities,
            createMessage(ListIdentitiesRequestSchema, { orderBy, pageSize: 7, pageToken }),
            callOf([group]),
            {
              pageTokens,
              rootRows,
            },
          );
          // A range of uids may begin or end between two rows in root.
          if (pageToken !== "" && !orderBy.startsWith("uid")) assert.equal(sent.length, 1, `${caller} ${orderBy}: ${sent.join("\n")}`);
          assert.equal(page.totalCount, REPOS + visible.length);
          seen.push(...page.uids());
          pageToken = page.nextPageToken;
          if (pageToken === "") break;
        }
        assert.deepEqual(seen, wanted, `${caller} ${orderBy}`);
      }
    }
  });

  test("a page contains new and deleted rows at once, although its plan was chosen before", async () => {
    const group = await makeRepos(organization);
    const request = { uidp: { childrenOf: group.uid }, orderBy: "name", pageSize: 200 };
    await list(request);
    const added = await addRepo(group.uid, `${group.names[0]}-next`);
    const before = await list(request);
    assert.equal(before.totalCount, REPOS + 1);
    assert.equal(before.uids()[1], added);
    await store.transaction(async (write) => {
      await write.deleteFrom("repo").where("parent", "=", group.uid).where("uid", "<>", added).execute();
      for (let i = 0; i < REPOS; i++) await appendToCount(write, "repo", added, -1);
    });
    sent = [];
    const left = await list(request);
    assert.equal(sent.length, 1);
    assert.deepEqual([left.uids(), left.totalCount, left.nextPageToken], [[added], 1, ""]);
  });

  test("a page with large bodies and a caller of two groups have all rows", async () => {
    const group = await makeRepos(organization);
    const large = await addRepo(group.uid, `${group.names[3]}-large`, "x".repeat(6000));
    const page = await list({ uidp: { childrenOf: group.uid }, orderBy: "name", pageSize: 200 });
    assert.equal(page.uids().length, REPOS + 1);
    assert.equal(page.uids()[4], large);
    assert.ok((page.bodies.texts[4]?.length ?? 0) > 6000);
    const [first, second] = [await makeRepos(organization), await makeRepos(organization)];
    const both = await list({ orderBy: "name", pageSize: 200 }, [first.uid, second.uid]);
    assert.equal(both.totalCount, 2 * REPOS);
    assert.deepEqual(both.uids().length, 2 * REPOS);
  });

  test("a page whose bodies are not ASCII has the same rows, text and bytes as its bodies one by one", async () => {
    const group = await makeRepos(organization);
    const names = AWKWARD.map((name) => `${group.names[0]}-${name}`);
    for (const name of names) await addRepo(group.uid, name, name);
    for (const pageSize of [2, 200]) {
      const page = await list({ uidp: { childrenOf: group.uid }, orderBy: "name", pageSize });
      const { text, texts, bytes } = page.bodies;
      assert.equal(text, texts.join(SEPARATOR));
      assert.equal(bytes, Buffer.byteLength(text));
      assert.deepEqual(
        texts.map((body) => (JSON.parse(body) as { name: string }).name),
        [group.names[0], ...names.toSorted(), ...group.names.slice(1)].slice(0, pageSize),
      );
    }
  });

  test("a walk by name reads each row once, whatever characters the names have", async () => {
    const group = await makeRepos(organization);
    for (const name of AWKWARD) await addRepo(group.uid, name);
    const names: string[] = [];
    let pageToken = "";
    do {
      const page = await list({ uidp: { childrenOf: group.uid }, orderBy: "name", pageSize: 1, pageToken });
      names.push(...page.bodies.texts.map((body) => (JSON.parse(body) as { name: string }).name));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    assert.deepEqual(names, [...group.names, ...AWKWARD].toSorted());
  });

  test("a caller whose rights change sees the rows of its present rights with the same request", async () => {
    const [first, second] = [await makeRepos(organization), await makeRepos(organization)];
    const request = { orderBy: "name", pageSize: 200 };
    for (const group of [first, second, first]) {
      const page = await list(request, [group.uid]);
      assert.deepEqual(
        page.bodies.texts.map((body) => (JSON.parse(body) as { name: string }).name),
        group.names,
      );
    }
    assert.deepEqual((await list(request, [])).uids(), []);
    const refused = await list({ ...request, uidp: { descendantsOf: second.uid } }, [first.uid]);
    assert.deepEqual([refused.uids(), refused.totalCount], [[], 0]);
  });

  type Request = { uidp?: object; orderBy: string; pageSize: number; pageToken?: string };

  function list(request: Request, groups = [organization, other]) {
    return listPage(repos, createMessage(ListReposRequestSchema, request as never), callOf(groups), { pageTokens });
  }

  function callOf(groups: readonly string[]): Call {
    const access = new Access(new Map(groups.map((group) => [group, 1n])));
    const operation = { name: "test/ListRepos", access: { mode: "unscoped", capabilities: 1n } };
    return { operation, access, principal: { uid: organization }, now: NOW, db } as unknown as Call;
  }

  /** Two of the rows in root, by one statement whichever they are. */
  function rowsInRoot([one = "", two = ""]: readonly string[]) {
    const values = { one, two };
    return rootRowsOf({ name: "some", values, build: (value) => sql<boolean>`uid in (${value("one")}, ${value("two")})` });
  }

  async function makeRepos(parent: string): Promise<{ readonly uid: string; readonly names: readonly string[] }> {
    const uid = newUid(parent);
    await insertGroup(uid, parent);
    const names = Array.from({ length: REPOS }, (_, i) => `r${uid.slice(-6)}-${String((i * 7) % REPOS).padStart(2, "0")}`);
    for (const name of names) await addRepo(uid, name);
    return { uid, names: names.toSorted() };
  }

  async function addRepo(parent: string, name: string, tag = ""): Promise<string> {
    const uid = newUid(parent);
    const message = createMessage(RepoSchema, { name, activeTags: tag === "" ? [] : [tag] });
    await store.transaction((write) => insert(repos, uid, message, { now: new Date(), db: write }));
    return uid;
  }

  async function addIdentity(parent: string, name: string): Promise<string> {
    const uid = newUid(parent);
    const message = createMessage(IdentitySchema, { name });
    await store.transaction((write) => insert(identities, uid, message, { now: new Date(), db: write }));
    return uid;
  }

  async function insertGroup(uid: string, parent: string | null = null): Promise<void> {
    const row = { uid, parent, name: uid, create_time: "", update_time: "", verified: 0, body: "{}" };
    await store.transaction((write) => write.insertInto("group").values(row).execute());
  }

  async function namesInOrder(orderBy: string, group: string): Promise<string[]> {
    const [column, direction] = columnOf(orderBy);
    const rows = await store.reader
      .selectFrom("repo")
      .select("name")
      .where("uid", ">=", `${group}/`)
      .where("uid", "<", `${group}0`)
      .orderBy(column, direction)
      .orderBy("uid")
      .execute();
    return rows.map(({ name }) => name);
  }

  /** Uids of the identities below the group, and of others. */
  async function identitiesInOrder(orderBy: string, group: string, others: readonly string[]): Promise<string[]> {
    const [column, direction] = columnOf(orderBy);
    const rows = await store.reader
      .selectFrom("identity")
      .select("uid")
      .where(({ or, and, eb }) => or([and([eb("uid", ">=", `${group}/`), eb("uid", "<", `${group}0`)]), eb("uid", "in", others)]))
      .orderBy(column, direction)
      .orderBy("uid")
      .execute();
    return rows.map(({ uid }) => uid);
  }

  function columnOf(orderBy: string): readonly ["uid", "asc" | "desc"] {
    const [column = "uid", direction = "asc"] = orderBy.split(" ");
    return [column as "uid", direction as "asc"];
  }

  async function countBelow(group: string): Promise<number> {
    return (await namesInOrder("uid", group)).length;
  }
}
