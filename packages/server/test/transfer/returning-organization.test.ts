/** An organization returns to a server that had it before, and still has its audit chain. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { AuditService } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { sql } from "kysely";
import { appendAudit } from "../../src/audit/append.ts";
import { readCarriedEntries } from "../../src/auditing/chain/carried-entries.ts";
import { sealAll } from "../auditing/audit-log.ts";
import { runHoltd, temporaryFolder } from "../harness/holtd.ts";
import { startWorld, type World } from "../harness/world.ts";

async function must(world: World, ...args: string[]): Promise<string> {
  const settings = { HOLT_DATA_DIR: world.dataDir, HOLT_DATABASE_URL: world.databaseUrl, HOLT_BASE_URL: world.baseUrl };
  const { code, stdout, stderr } = await runHoltd(args, { ...settings, HOLT_LOG_LEVEL: "error" });
  assert.equal(code, 0, stderr + stdout);
  return stdout;
}

async function entriesOf(world: World, organization: string): Promise<string[]> {
  await sealAll(world);
  const entries: string[] = [];
  for await (const { content } of readCarriedEntries(world.store.reader, organization)) entries.push(content);
  return entries;
}

/** Deletes the organization and its events, whose retention would have to end first. */
async function remove(world: World, uid: string): Promise<void> {
  await world.must(GroupsService.method.deleteGroup, { uid });
  await world.store.transaction((db) => sql`delete from outbox where subject = ${uid}`.execute(db));
}

test("an organization that returns continues its audit chain, which keeps all entries of both servers once", async () => {
  await using first = await startWorld({ store: "postgres" });
  await using second = await startWorld({ store: "postgres" });
  await using folder = await temporaryFolder();
  const [there, back] = [join(folder.path, "there"), join(folder.path, "back")];
  const { uid } = await first.must(GroupsService.method.createGroup, { group: { name: "traveler" } });
  await first.must(GroupsService.method.updateGroup, {
    group: { uid, description: "at\u2028home" },
    updateMask: { paths: ["description"] },
  });
  const before = await entriesOf(first, uid);
  await must(first, "export", uid, there);
  await remove(first, uid);
  const left = await entriesOf(first, uid);
  assert.ok(left.length > before.length, "the deletion is in the chain");

  await must(second, "import", "org", there);
  const facts = { action: "platform.iam.v2.GroupsService/UpdateGroup", actor: "", target: uid, organization: uid, outcome: "OK" };
  await second.store.transaction((db) => appendAudit(db, { ...facts, message: "abroad", now: second.clock.now() }));
  const abroad = await entriesOf(second, uid);
  await must(second, "export", uid, back);

  await must(first, "import", "org", back);
  const found = await entriesOf(first, uid);
  assert.deepEqual(found.slice(0, left.length), left);
  const news = abroad.slice(before.length);
  assert.ok(news.length > 0);
  assert.deepEqual(found.slice(left.length), news);
  const verified = await first.must(AuditService.method.verifyAuditChain, { parent: uid });
  assert.deepEqual([verified.verified, verified.description], [BigInt(found.length), ""]);
  assert.match(await must(first, "audit", "verify", uid), /intact/);
});
