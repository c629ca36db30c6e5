/**
 * The last release and this program serve together, after this program has migrated the schema. Before the first release,
 * the earlier program is the one before the newest migration.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrations } from "../../src/domains.ts";
import { freePort } from "../harness/free-port.ts";
import { get, printedToken, startHoltd, startProgram, temporaryFolder, untilReady } from "../harness/holtd.ts";
import { createDatabase } from "../harness/postgres.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { extractProgram, findEarlierCommit } from "../harness/robustness/earlier-program.ts";
import { query } from "../harness/robustness/postgres-pair.ts";
import { until } from "../harness/wait.ts";

const NAME = "my-org/app";
const commit = await findEarlierCommit();
const skip = commit === undefined ? "the history is not here" : false;

test("an earlier server goes on while a newer one migrates the database, and both serve what either writes", { skip }, async (t) => {
  await using earlier = await extractProgram(commit ?? "");
  await using folder = await temporaryFolder();
  const HOLT_DATABASE_URL = await createDatabase();
  const [before, after] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const shared = { HOLT_DATABASE_URL, HOLT_DATA_DIR: folder.path, HOLT_BASE_URL: `http://${before}`, HOLT_LOG_LEVEL: "error" };
  await using old = startProgram(process.execPath, [earlier.holtd], { ...shared, HOLT_LISTEN: before });
  await untilReady(old);
  const schema = async () => Number((await query(HOLT_DATABASE_URL, "select max(version) as version from schema_migration"))[0]?.version);
  const oldSchema = await schema();
  const token = await printedToken({ ...shared, HOLT_LISTEN: before });
  const urls = [`http://${before}`, `http://${after}`];
  const { json } = await get(urls[0]!, "/iam/v2/groups?uidp.in_root=true", token);
  const org = (json as { groups: { uid: string }[] }).groups[0]!.uid;

  let serial = 0;
  let isOver = false;
  let written = 0;
  const headers = { authorization: `Bearer ${token}` };
  const create = async (url: string) => {
    const body = JSON.stringify({ name: `group-${serial++}` });
    const answer = await fetch(`${url}/iam/v2/groups/${org}`, { method: "POST", headers, body });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return (JSON.parse(text) as { uid: string }).uid;
  };
  // The earlier server writes all the time. A write waits while a migration holds its table.
  const writing = (async () => {
    for (; !isOver; written++) await create(urls[0]!);
  })();
  writing.catch(() => {});
  await until(() => written > 3);
  await using _new = await startHoltd({ ...shared, HOLT_LISTEN: after });
  assert.equal(await schema(), migrations.length);
  t.diagnostic(`schema ${oldSchema} of ${commit} and ${migrations.length}`);
  const soFar = written;
  await Promise.race([until(() => written > soFar + 10), writing]);
  isOver = true;
  await writing;

  for (const [writer, reader] of [urls, urls.toReversed()] as [string, string][]) {
    const uid = await create(writer);
    assert.equal((await get(reader, `/iam/v2/groups/${uid}`, token)).status, 200);
    const changed = await fetch(`${reader}/iam/v2/groups/${uid}`, { method: "PATCH", headers, body: '{"description":"changed"}' });
    assert.equal(changed.status, 200, await changed.text());
    assert.equal(((await get(writer, `/iam/v2/groups/${uid}`, token)).json as { description: string }).description, "changed");
    assert.equal((await fetch(`${reader}/iam/v2/groups/${uid}`, { method: "DELETE", headers })).status, 200);
    assert.equal((await get(writer, `/iam/v2/groups/${uid}`, token)).status, 404);
    using pusher = createRegistryClient(writer, basic("_token", token));
    using puller = createRegistryClient(reader, basic("_token", token));
    const { digest } = await pusher.image(NAME, `tag-${serial}`);
    assert.equal((await puller.send("GET", `${NAME}/manifests/${digest}`)).status, 200);
  }
  const feedOf = async (url: string) => {
    const { json } = await get(url, `/holt/v1/events/${org}?page_size=200`, token);
    return (json as { events: { id: string }[] }).events.map(({ id }) => id);
  };
  const feed = await feedOf(urls[0]!);
  assert.ok(feed.length > 0);
  // More events may be published meanwhile.
  assert.deepEqual((await feedOf(urls[1]!)).slice(0, feed.length), feed);
  for (const url of urls) assert.equal((await fetch(`${url}/readyz`)).status, 200);
});
