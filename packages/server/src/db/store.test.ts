/** Tests what both stores must do alike, with the constraints and counts of the schema. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { createMigratedDatabase } from "../../test/harness/migrated-database.ts";
import { openDatabase } from "../cli/open-installation.ts";
import type { GroupTable } from "../iam/tables.ts";
import { createLog } from "../lib/log.ts";
import { newUid, parentOf } from "../lib/uid.ts";
import { preparedInsert } from "./prepared-insert.ts";
import { appendToCount, appendToCounts, countOf, dropCounts } from "./resource-count.ts";
import type { Store, WriteDb } from "./store.ts";
import { ConstraintError } from "./transaction.ts";

const log = createLog("silent");

describe("the store in SQLite", () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "holt-store-"));
  });
  after(() => rm(dataDir, { recursive: true }));
  storeSuite(() => openDatabase({ url: "", dataDir, log }));
});

describe("the store in PostgreSQL", () => {
  storeSuite(async () => openDatabase({ url: await createMigratedDatabase(), dataDir: "", log }));
});

function storeSuite(open: () => Promise<Store>): void {
  let store: Store;
  before(async () => {
    store = await open();
  });
  after(() => store[Symbol.asyncDispose]());

  const bodyOf = async (uid: string) =>
    (await store.reader.selectFrom("group").select("body").where("uid", "=", uid).executeTakeFirst())?.body;

  test("the rows of a transaction can be read when it resolves", async () => {
    const uid = newUid("");
    const value = await store.transaction(async (db) => {
      await insertGroup(db, uid);
      assert.equal(await bodyOf(uid), undefined);
      return 7;
    });
    assert.equal(value, 7);
    assert.equal(await bodyOf(uid), "{}");
  });

  test("an exception in a transaction is rethrown and rolls it back", async () => {
    const uid = newUid("");
    const failing = store.transaction(async (db) => {
      await insertGroup(db, uid);
      throw new RangeError("no");
    });
    await assert.rejects(failing, RangeError);
    assert.equal(await bodyOf(uid), undefined);
  });

  test("actions after a commit run in order once it is visible, and not after a failure", async () => {
    const ran: string[] = [];
    await store.transaction(async (db) => {
      db.afterCommit(() => ran.push("first"));
      db.afterCommit(() => {
        throw new Error("does not stop the others");
      });
      await insertGroup(db, newUid(""));
      db.afterCommit(() => ran.push("second"));
      assert.deepEqual(ran, []);
    });
    assert.deepEqual(ran, ["first", "second"]);
    const failing = store.transaction(async (db) => {
      db.afterCommit(() => ran.push("never"));
      throw new RangeError("no");
    });
    await assert.rejects(failing, RangeError);
    assert.deepEqual(ran, ["first", "second"]);
  });

  test("one failed transaction among twenty concurrent ones fails alone", async () => {
    const uids = Array.from({ length: 20 }, () => newUid(""));
    const settled = await Promise.allSettled(
      uids.map((uid, i) =>
        store.transaction(async (db) => {
          await insertGroup(db, uid);
          if (i === 10) throw new RangeError("no");
          return i;
        }),
      ),
    );
    assert.deepEqual(
      settled.map((result) => result.status === "fulfilled"),
      uids.map((_, i) => i !== 10),
    );
    assert.deepEqual(
      (await Promise.all(uids.map(bodyOf))).map((body) => body !== undefined),
      uids.map((_, i) => i !== 10),
    );
  });

  test("an appended statement is visible to the next statement and is committed", async () => {
    const [first, second] = [newUid(""), newUid("")];
    await store.transaction(async (db) => {
      await db.append(groupInsert(db, first));
      const row = await db.selectFrom("group").select("uid").where("uid", "=", first).executeTakeFirst();
      assert.equal(row?.uid, first);
      await db.append(groupInsert(db, second));
    });
    assert.deepEqual([await bodyOf(first), await bodyOf(second)], ["{}", "{}"]);
    await store.transaction(async (db) => {
      // More than wait for a round trip.
      for (let i = 0; i < 200; i++) await appendToCount(db, "role", newUid(first), 1);
    });
    assert.equal((await countOf(store.reader, "role", first)).below, 200);
  });

  test("a transaction fails with the error of an appended statement, whatever a later statement makes of it", async () => {
    const [uid, other] = [newUid(""), newUid("")];
    await store.transaction((db) => insertGroup(db, uid));
    const appendTwice = async (db: WriteDb) => {
      await db.append(groupInsert(db, other));
      await db.append(groupInsert(db, uid), () => new RangeError("taken"));
    };
    await assert.rejects(store.transaction(appendTwice), new RangeError("taken"));
    const reading = store.transaction(async (db) => {
      await appendTwice(db);
      await db.selectFrom("group").select("uid").execute();
    });
    await assert.rejects(reading, new RangeError("taken"));
    const ignoring = store.transaction(async (db) => {
      await appendTwice(db).catch(() => {});
      await db
        .selectFrom("group")
        .select("uid")
        .execute()
        .catch(() => {});
    });
    await assert.rejects(ignoring, new RangeError("taken"));
    // Without an error of its own it must not look like a constraint of the later statement.
    const unnamed = store.transaction(async (db) => {
      await db.append(groupInsert(db, uid));
      await db.selectFrom("group").select("uid").execute();
    });
    await assert.rejects(unnamed, (error: Error) => !(error instanceof ConstraintError) && error.cause instanceof ConstraintError);
    assert.equal(await bodyOf(other), undefined);
  });

  test("NUL in an appended statement is refused", async () => {
    const failing = store.transaction((db) => db.append(groupInsert(db, newUid(""), "a\0b")));
    await assert.rejects(failing, /NUL/);
  });

  test("a duplicate value is refused with the table and its columns", async () => {
    const uid = newUid("");
    await store.transaction((db) => insertGroup(db, uid, { name: `verified ${uid}`, verified: 1 }));
    await assertConstraint((db) => insertGroup(db, uid), "unique", "group", ["uid"]);
    await assertConstraint((db) => insertGroup(db, newUid(""), { name: `verified ${uid}`, verified: 1 }), "unique", "group", ["name"]);
    await store.transaction((db) => insertGroup(db, newUid(""), { name: `verified ${uid}`, verified: 0 }));
    const role = newUid(uid);
    const row = { parent: uid, name: "", create_time: "", update_time: "", body: "{}" };
    const bind = (db: WriteDb) =>
      db
        .insertInto("role_binding")
        .values({ ...row, uid: newUid(uid), identity_uid: "somebody", role_uid: role })
        .execute();
    await store.transaction((db) =>
      db
        .insertInto("role")
        .values({ ...row, uid: role, rank: "", capabilities: "" })
        .execute(),
    );
    await store.transaction(bind);
    await assertConstraint(bind, "unique", "role_binding", ["parent", "identity_uid", "role_uid"]);
    await assertConstraint((db) => db.deleteFrom("role").where("uid", "=", role).execute(), "foreign-key", "role", []);
  });

  test("a dangling reference is refused, and so is the deletion of a referenced row", async () => {
    const uid = newUid("");
    const child = newUid(uid);
    await assertConstraint((db) => insertGroup(db, child, { parent: uid }), "foreign-key", "group", []);
    await store.transaction(async (db) => {
      await insertGroup(db, uid);
      await insertGroup(db, child, { parent: uid });
    });
    await assertConstraint((db) => db.deleteFrom("group").where("uid", "=", uid).execute(), "foreign-key", "group", []);
    await assertConstraint(
      (db) =>
        db
          .updateTable("group")
          .set({ parent: newUid("") })
          .where("uid", "=", child)
          .execute(),
      "foreign-key",
      "group",
      [],
    );
  });

  test("a transaction with a failed statement does not commit, even if the error is ignored", async () => {
    const uid = newUid("");
    const failing = store.transaction(async (db) => {
      await insertGroup(db, uid);
      await insertGroup(db, uid).catch(() => {});
    });
    await assert.rejects(failing, ConstraintError);
    assert.equal(await bodyOf(uid), undefined);
    const translated = store.transaction(async (db) => {
      await insertGroup(db, newUid(uid), { parent: uid }).catch(() => {
        throw new RangeError("what it means");
      });
    });
    await assert.rejects(translated, RangeError);
  });

  test("a read handle has no methods that write, and its connection refuses writes", async () => {
    assert.deepEqual(
      ["insertInto", "updateTable", "deleteFrom", "transaction", "schema", "afterCommit"].filter((name) => name in store.reader),
      [],
    );
    const before = await store.reader.selectFrom("group").select(store.reader.fn.countAll<number>().as("n")).executeTakeFirstOrThrow();
    await assert.rejects(sql`delete from "group"`.execute(store.reader), /read-?only/);
    await assert.rejects(
      store.snapshot((db) => sql`delete from "group"`.execute(db)),
      /read-?only/,
    );
    const after = await store.reader.selectFrom("group").select(store.reader.fn.countAll<number>().as("n")).executeTakeFirstOrThrow();
    assert.deepEqual(after, before);
    assert.equal(typeof after.n, "number");
  });

  test("a snapshot sees one moment and blocks neither reads nor writes", async () => {
    const uid = newUid("");
    await store.snapshot(async (db) => {
      const inside = async () => (await db.selectFrom("group").select("uid").where("uid", "=", uid).execute()).length;
      assert.equal(await inside(), 0);
      await store.transaction((writer) => insertGroup(writer, uid));
      assert.equal(await bodyOf(uid), "{}");
      assert.equal(await inside(), 0);
    });
    const all = await Promise.all(
      Array.from({ length: 20 }, () => store.snapshot((db) => db.selectFrom("group").select("uid").where("uid", "=", uid).execute())),
    );
    assert.ok(all.every((rows) => rows.length === 1));
  });

  test("a handle cannot be used after its transaction or snapshot has ended", async () => {
    let kept: WriteDb | undefined;
    await store.transaction(async (db) => {
      kept = db;
    });
    await assert.rejects(insertGroup(kept!, newUid("")), /is over/);
    const reader = await store.snapshot(async (db) => db);
    await assert.rejects(reader.selectFrom("group").select("uid").execute(), /is over/);
  });

  test("updates and deletions return the number of affected rows", async () => {
    const uid = newUid("");
    await store.transaction(async (db) => {
      await insertGroup(db, uid);
      const update = await db.updateTable("group").set({ name: "new" }).where("uid", "=", uid).executeTakeFirst();
      assert.equal(update.numUpdatedRows, 1n);
      const returned = await db.updateTable("group").set({ name: "newer" }).where("uid", "=", uid).returning(["uid", "name"]).execute();
      assert.deepEqual(returned, [{ uid, name: "newer" }]);
      const removal = await db.deleteFrom("group").where("uid", "=", newUid("")).executeTakeFirst();
      assert.equal(removal.numDeletedRows, 0n);
    });
  });

  test("lists of values, locks and unindexed columns behave the same on both stores", async () => {
    const uids = [newUid(""), newUid("")].sort();
    await store.transaction(async (db) => {
      for (const uid of uids) await insertGroup(db, uid);
      const { forUpdate, forDelete, forKeyShare, valuesOf, unindexed } = db.dialect;
      const wanted = valuesOf([...uids, 'not "there"']).as("v");
      const query = () =>
        db.selectFrom("group").innerJoin(wanted, "v.value", "group.uid").select("group.uid").orderBy(unindexed("group.uid"));
      assert.deepEqual(
        await query().execute(),
        uids.map((uid) => ({ uid })),
      );
      const plain = db.selectFrom("group").select("uid").where(unindexed<string>("uid"), "=", uids[0]!);
      for (const lock of [forUpdate, forDelete, forKeyShare]) assert.deepEqual(await lock(plain).execute(), [{ uid: uids[0] }]);
      assert.deepEqual(await db.selectFrom(valuesOf([]).as("v")).select("v.value").execute(), []);
    });
  });

  test("strings are ordered by their bytes", async () => {
    const list = ["a", "B", "ä", "_", "Z", "z", "a b", "ab"];
    const parent = newUid("");
    await store.transaction(async (db) => {
      await insertGroup(db, parent);
      for (const name of list) await insertGroup(db, newUid(parent), { parent, name });
    });
    const rows = await store.reader.selectFrom("group").select("name").where("parent", "=", parent).orderBy("name").execute();
    assert.deepEqual(
      rows.map((row) => row.name),
      ["B", "Z", "_", "a", "a b", "ab", "z", "ä"],
    );
  });

  test("bytes are stored unchanged and deleted with their manifest", async () => {
    const [group, times] = [newUid(""), { create_time: "", update_time: "" }];
    const repo_uid = newUid(group);
    const contents = [Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array(0), Buffer.from("a view of more").subarray(2, 6)];
    const [manifest, image] = ["manifest", "image"].map((name) => `sha256:${name}`) as [string, string];
    await store.transaction(async (db) => {
      await insertGroup(db, group);
      await db
        .insertInto("repo")
        .values({ uid: repo_uid, parent: group, name: "nginx", ...times, source: null, body: "{}" })
        .execute();
      for (const [i, content] of contents.entries()) {
        const about = { media_type: "", artifact_type: null, subject: null, annotations: null, create_time: "", touch_time: "" };
        await db
          .insertInto("manifest")
          .values({ repo_uid, digest: manifest + i, ...about, size: content.length, content })
          .execute();
      }
      await db
        .insertInto("manifest_reference")
        .values({ repo_uid, manifest_digest: `${manifest}1`, digest: image, kind: "blob" })
        .execute();
    });
    const rows = await store.reader
      .selectFrom("manifest")
      .select(["content", "size"])
      .where("repo_uid", "=", repo_uid)
      .orderBy("digest")
      .execute();
    assert.ok(rows.every(({ content }) => content instanceof Uint8Array));
    assert.deepEqual(
      rows.map(({ content }) => [...content]),
      contents.map((content) => [...content]),
    );
    const references = () =>
      store.reader.selectFrom("manifest_reference").select("digest").where("repo_uid", "=", repo_uid).orderBy("digest").execute();
    assert.deepEqual(await references(), [{ digest: image }]);
    const [first] = await store.transaction((db) =>
      db.deleteFrom("manifest").where("repo_uid", "=", repo_uid).returning("content").execute(),
    );
    assert.ok(first?.content instanceof Uint8Array);
    assert.deepEqual(await references(), []);
  });

  test("counts of tags include their repo", async () => {
    const repo = newUid(newUid(""));
    const tags = [newUid(repo), newUid(repo)];
    await store.transaction(async (db) => {
      await appendToCounts(db, "tag", tags, 1);
      await appendToCount(db, "plain_tag", tags[0]!, 1);
    });
    assert.deepEqual(await countOf(store.reader, "tag", repo), { below: 2, direct: 2 });
    assert.deepEqual(await countOf(store.reader, "plain_tag", repo), { below: 1, direct: 1 });
    assert.deepEqual(await countOf(store.reader, "tag", parentOf(repo)), { below: 2, direct: 0 });
  });

  test("counts are right after fifty concurrent writers", async () => {
    const root = newUid("");
    const folders = Array.from({ length: 5 }, () => newUid(root));
    const roles = Array.from({ length: 50 }, (_, i) => newUid(folders[i % 5]!));
    await Promise.all(roles.map((uid) => store.transaction((db) => appendToCount(db, "role", uid, 1))));
    assert.deepEqual(await countOf(store.reader, "role", root), { below: 50, direct: 0 });
    assert.deepEqual(await countOf(store.reader, "role", folders[3]!), { below: 10, direct: 10 });
    assert.deepEqual(await countOf(store.reader, "identity", root), { below: 0, direct: 0 });
    await store.transaction((db) => appendToCounts(db, "role", [...roles.slice(0, 20), newUid("")], -1));
    assert.deepEqual(await countOf(store.reader, "role", root), { below: 30, direct: 0 });
    assert.deepEqual(await countOf(store.reader, "role", folders[3]!), { below: 6, direct: 6 });
    await store.transaction((db) => dropCounts(db, root));
    assert.deepEqual(await countOf(store.reader, "role", root), { below: 0, direct: 0 });
  });

  test("a long list of counts is updated in batches", async () => {
    const root = newUid("");
    const rows = Array.from({ length: 2500 }, () => newUid(newUid(root)));
    await store.transaction((db) => appendToCounts(db, "group", rows, 1));
    assert.deepEqual(await countOf(store.reader, "group", root), { below: 2500, direct: 0 });
  });

  test("the store answers a ping", () => store.ping());

  async function assertConstraint(
    work: (db: WriteDb) => Promise<unknown>,
    kind: ConstraintError["kind"],
    table: string,
    columns: readonly string[],
  ): Promise<void> {
    await assert.rejects(store.transaction(work), (error) => {
      assert.ok(error instanceof ConstraintError, String(error));
      assert.deepEqual({ kind: error.kind, table: error.table, columns: error.columns }, { kind, table, columns });
      return true;
    });
  }
}

async function insertGroup(db: WriteDb, uid: string, columns: Partial<GroupTable> = {}): Promise<void> {
  await db
    .insertInto("group")
    .values({ uid, parent: null, name: "a group", create_time: "", update_time: "", verified: 0, body: "{}", ...columns })
    .execute();
}

function groupInsert(db: WriteDb, uid: string, name = "") {
  return preparedInsert(db, "group", { uid, parent: null, name, create_time: "", update_time: "", verified: 0, body: "{}" });
}
