/** Servers that share a database do not seal the same audit entries twice. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { appendAudit } from "../../src/audit/append.ts";
import { readSealState, SealingTurn, seal } from "../../src/auditing/chain/seal.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import type { Store } from "../../src/db/store.ts";
import { systemClock as clock } from "../../src/lib/clock.ts";
import { createLog } from "../../src/lib/log.ts";
import { storeNames } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";

async function append(store: Store): Promise<void> {
  const facts = { action: "platform.iam.v2.GroupsService/CreateGroup", actor: "", organization: "", target: "", outcome: "OK" };
  await store.transaction((db) => appendAudit(db, { ...facts, now: clock.now() }));
}

for (const name of storeNames) {
  test(`on ${name}, the server that sealed last goes on, and another begins once it has stopped`, async () => {
    await using folder = await temporaryFolder();
    const url = await createDatabaseOn(name);
    await using store = await openDatabase({ url, dataDir: folder.path, log: createLog("silent") });
    const [one, other] = [new SealingTurn(), new SealingTurn()];
    const blocks = async () => (await readSealState(store.reader)).block;
    await seal(store, clock, other);
    for (const sealed of [1, 2, 3]) {
      await append(store);
      await seal(store, clock, one);
      assert.equal(await blocks(), sealed);
      await append(store);
      await seal(store, clock, other);
      assert.equal(await blocks(), sealed, "another server sealed, too");
    }
    await seal(store, clock, other);
    assert.equal(await blocks(), 4);
    await append(store);
    await seal(store, clock, one);
    assert.equal(await blocks(), 4, "the server that had stopped sealed at once");
  });

  test(`on ${name}, two servers that begin at the same time seal each entry once`, async () => {
    await using folder = await temporaryFolder();
    const url = await createDatabaseOn(name);
    await using store = await openDatabase({ url, dataDir: folder.path, log: createLog("silent") });
    const turns = [new SealingTurn(), new SealingTurn()];
    await append(store);
    await Promise.all(turns.map((turn) => seal(store, clock, turn)));
    assert.equal((await readSealState(store.reader)).block, 1);
  });
}
