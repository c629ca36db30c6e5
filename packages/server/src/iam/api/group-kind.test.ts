/** The columns of kind and status, and how folders inherit them, on both stores. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Group, GroupSchema, OrgKind, OrgStatus } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { sql } from "kysely";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { insert } from "../../api/resource/write.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import type { StoreOptions } from "../../db/open.ts";
import { createLog } from "../../lib/log.ts";
import { newUid } from "../../lib/uid.ts";
import { groupKind } from "../migrations/023-group-kind.ts";
import { shareKindAndStatus } from "./group-kind.ts";
import { groups } from "./groups.ts";

const log = createLog("silent");
const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

describe("the kind of a group on SQLite", () =>
  suite(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "holt-group-kind-"));
    folders.push(dataDir);
    return { url: "", dataDir, log };
  }));
describe("the kind of a group on PostgreSQL", () => suite(async () => ({ url: await createMigratedDatabase(), dataDir: "", log })));

const now = new Date("2026-01-02T03:04:05.678Z");
const customer = { kind: OrgKind.CUSTOMER, status: OrgStatus.READY };

function suite(options: () => Promise<Omit<StoreOptions, "migrations">>): void {
  test("the migration reads it from stored bodies, whatever characters these have", async () => {
    await using store = await openDatabase(await options());
    const descriptions = ["", "a NUL \0", "an escape \\u0000 and \\ud83d", "half a pair \ud83d", '"kind":"ORG_KIND_DEV"'];
    await store.transaction(async (db) => {
      for (const column of ["kind", "status"]) await sql`alter table "group" drop column ${sql.ref(column)}`.execute(db);
      for (const description of descriptions) {
        const group = create(GroupSchema, { name: "g", description, ...customer });
        await insert(groups, newUid(""), group, { now, db });
      }
      for (const statement of groupKind.statements(db.dialect)) await sql.raw(statement).execute(db);
    });
    const rows = await store.reader.selectFrom("group").select(["kind", "status"]).execute();
    assert.deepEqual(
      rows,
      descriptions.map(() => ({ kind: "ORG_KIND_CUSTOMER", status: "ORG_STATUS_READY" })),
    );
  });

  test("all folders of an organization inherit it, and nothing else of them changes", async () => {
    await using store = await openDatabase(await options());
    const organization = create(GroupSchema, { name: "organization" });
    const other = create(GroupSchema, { name: "other" });
    const inside = Array.from({ length: 1001 }, (_, i) => create(GroupSchema, { name: `folder ${i}`, description: "é\0" }));
    const outside = create(GroupSchema, { name: "folder of another organization" });
    const insertUnder = async (parent: string, group: Group) =>
      store.transaction((db) => insert(groups, newUid(parent), group, { now, db }));
    for (const group of [organization, other]) await insertUnder("", group);
    await store.transaction(async (db) => {
      let parent = organization.uid;
      for (const [i, group] of inside.entries()) {
        await insert(groups, newUid(parent), group, { now, db });
        if (i % 100 === 0) parent = group.uid;
      }
    });
    await insertUnder(other.uid, outside);

    await store.transaction((db) => shareKindAndStatus({ ...organization, ...customer }, db));
    const stored = await store.reader.selectFrom("group").select(["uid", "body", "update_time", "kind"]).execute();
    const bodies = new Map(stored.map(({ uid, body }) => [uid, body]));
    for (const group of [organization, other, outside]) assert.equal(bodies.get(group.uid), groups.encode(group));
    for (const group of inside) assert.equal(bodies.get(group.uid), groups.encode({ ...group, ...customer }));
    assert.equal(stored.filter(({ kind }) => kind === "ORG_KIND_CUSTOMER").length, inside.length);
    assert.ok(stored.every(({ update_time }) => update_time === now.toISOString()));
  });
}
