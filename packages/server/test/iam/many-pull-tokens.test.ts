/** Pull tokens on several servers, and among a hundred thousand others. */
import assert from "node:assert/strict";
import { it, test } from "node:test";
import { PullTokensService, PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { sql } from "kysely";
import { selectByPassword, selectBySecret } from "../../src/iam/pull-tokens/pull-token-record.ts";
import { startServer } from "../harness/harness.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, startWorld } from "../harness/world.ts";

const methods = PullTokensService.method;
const pullToken = { name: "test", rights: [Right.IMAGES_PULL] };

test("a pull token that one server revokes or rotates is refused by the next request to another server", async () => {
  const url = await createMigratedDatabase();
  await using world = await startWorld({ env: { HOLT_DATABASE_URL: url } });
  await using other = await startServer({
    clock: world.clock,
    env: { HOLT_DATABASE_URL: url, HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl },
  });
  const there = `http://127.0.0.1:${other.port}`;
  const statusWith = async (authorization: string): Promise<number> => {
    using client = createRegistryClient(there, authorization);
    return (await client.send("GET", "")).status;
  };
  for (const end of ["revoke", "rotate"]) {
    const { uid, userName, password } = await world.must(methods.createPullToken, { parent: world.orgUid, pullToken });
    const credentials = basic(userName, password);
    assert.equal(await statusWith(credentials), 200);
    using client = createRegistryClient(there, credentials);
    const { token } = (await client.send("GET", "/token")).json() as { token: string };
    assert.equal(await statusWith(`Bearer ${token}`), 200);
    if (end === "revoke") await world.must(methods.deletePullToken, { uid });
    else await world.must(methods.rotatePullToken, { uid, overlap: { seconds: 0n } });
    assert.deepEqual([await statusWith(credentials), await statusWith(`Bearer ${token}`)], [401, 401], end);
  }
});

const MANY = 100_000;

describeWithWorld("a hundred thousand pull tokens", (world) => {
  it("a sign-in and the check of a token read single rows by an index", async () => {
    const parent = world.orgUid;
    const numbers = sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(MANY)})`;
    const uid = sql`${sql.lit(parent)} || '/' || substr(cast(1000000000000000 + i as text), 1, 16)`;
    await world.store.transaction(async (db) => {
      await sql`${numbers} insert into pull_token
        (uid, parent, name, create_time, update_time, creator, independent, repositories, expire_time, body)
        select ${uid}, ${sql.lit(parent)}, 'many', '', '', 'x', 0, '[]', '2030', '{}' from n`.execute(db);
      await sql`${numbers} insert into pull_token_secret (password_hash, id, pull_token_uid, is_current, expire_time)
        select cast(i as text), cast(i as text), ${uid}, 1, '2030' from n`.execute(db);
    });
    await world.store.transaction(async (db) => void (await sql`analyze`.execute(db)));
    const { reader } = world.store;
    const options = world.databaseUrl === "" ? sql`query plan` : undefined;
    for (const query of [selectByPassword(reader, "5"), selectBySecret(reader, `${parent}/1000000000000005`, "5")]) {
      const plan = JSON.stringify(await query.explain(undefined, options));
      assert.doesNotMatch(plan, /SCAN|Seq Scan/, plan);
      assert.match(plan, /index/i, plan);
      assert.equal((await query.execute()).length, 1);
    }
    const created = await world.must(methods.createPullToken, { parent, pullToken });
    using client = createRegistryClient(world.baseUrl, basic(created.userName, created.password));
    assert.equal((await client.send("GET", "")).status, 200);
  });
});
