/** A page of the audit log takes few statements: on PostgreSQL each one is a round trip. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { appendAudit } from "../../src/audit/append.ts";
import { type EntryFilter, findEntries, type Window } from "../../src/auditing/api/find-entries.ts";
import { indexBlocks } from "../../src/auditing/chain/segment-index.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import type { ReadDb } from "../../src/db/store.ts";
import { newUid } from "../../src/lib/uid.ts";
import { describeWithWorld } from "../harness/world.ts";
import { sealAll } from "./audit-log.ts";

const BLOCKS = 6;
const ENTRIES_PER_BLOCK = 8;
const ACTION = "platform.iam.v2.GroupsService/CreateGroup";
const FIRST: Window = { isDescending: true, after: undefined, limit: 5 };

describeWithWorld("statements of a page of the audit log", (world) => {
  let any: EntryFilter;
  let group: string;
  let target: string;
  let actor: string;

  before(async () => {
    const { orgUid: organization, store, clock } = world;
    group = newUid(organization);
    target = newUid(group);
    actor = newUid(organization);
    any = {
      ...{ organization, below: undefined, actor: "", action: "", target: "", outcome: "", refused: false, remoteAddress: "" },
      ...{ requestId: "", since: undefined, until: undefined },
    };
    for (let block = 0; block < BLOCKS; block++) {
      await store.transaction(async (db) => {
        for (let entry = 0; entry < ENTRIES_PER_BLOCK; entry++)
          await appendAudit(db, { organization, actor, target, action: ACTION, outcome: "OK", now: clock.now() });
      });
      clock.advance(3_600_000);
      await sealAll(world);
      if (block === BLOCKS / 2) while (await indexBlocks(store, 1));
    }
  });

  /** The statements of a page that is full. */
  async function countStatements(filter: Partial<EntryFilter>, window = FIRST): Promise<number> {
    let statements = 0;
    const { reader, dialect } = world.store;
    const db: ReadDb = createReadHandle(dialect, (query) => {
      statements++;
      return reader.getExecutor().executeQuery(query) as never;
    });
    const { entries } = await findEntries(db, { ...any, ...filter }, window);
    assert.equal(entries.length, window.limit);
    return statements;
  }

  test("the first page without a filter takes three statements", async () => {
    assert.equal(await countStatements({}), 3);
  });

  test("the first page of a filter takes three statements", async () => {
    assert.equal(await countStatements({ actor }), 3);
  });

  test("a later page takes one statement more", async () => {
    assert.equal(await countStatements({ actor }, { ...FIRST, after: { number: 20 } }), 4);
  });

  test("each further filter takes two statements more", async () => {
    assert.equal(await countStatements({ actor, action: ACTION }), 5);
  });

  test("a filter by a target takes six statements", async () => {
    assert.equal(await countStatements({ target }), 6);
  });

  test("a filter by a group takes at most six statements", async () => {
    assert.ok((await countStatements({ below: group })) <= 6);
  });

  test("a filter by an actor between two times takes at most seven statements", async () => {
    const at = (hours: number) => new Date(world.clock.now().getTime() - hours * 3_600_000).toISOString();
    assert.ok((await countStatements({ actor, since: at(4.5), until: at(1.5) })) <= 7);
  });
});
