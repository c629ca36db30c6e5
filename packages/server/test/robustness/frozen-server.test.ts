/** A server that freezes does not stop the other servers of its database, and goes on without a restart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { get, printedToken, type RunningServer, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { until, within } from "../harness/wait.ts";

const SERVERS = 3;

test("servers go on while another one is frozen, and no acknowledged write is lost or happens twice", async (t) => {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const ports = await Promise.all(Array.from({ length: SERVERS }, freePort));
  const shared = {
    HOLT_DATABASE_URL: await createMigratedDatabase(),
    HOLT_DATA_DIR: folder.path,
    HOLT_BASE_URL: `http://127.0.0.1:${ports[0]}`,
    HOLT_LOG_LEVEL: "error",
  };
  const servers: RunningServer[] = [];
  for (const port of ports) servers.push(stack.use(await startHoltd({ ...shared, HOLT_LISTEN: `127.0.0.1:${port}` })));
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const token = await printedToken(shared);
  const { json } = await get(urls[0]!, "/iam/v2/groups?uidp.in_root=true", token);
  const orgUid = (json as { groups: { uid: string }[] }).groups[0]!.uid;

  const acknowledged = new Set<string>();
  /** Refused because the frozen server held a lock, until the database ended its transaction. */
  const refused = new Set<string>();
  let isOver = false;
  const counts = urls.map(() => 0);
  const writers = urls.map(async (url, server) => {
    for (let i = 0; !isOver; i++) {
      const name = `group-${server}-${i}`;
      const body = JSON.stringify({ name });
      const answer = await fetch(`${url}/iam/v2/groups/${orgUid}`, { method: "POST", headers: { authorization: `Bearer ${token}` }, body });
      await answer.text();
      assert.ok(answer.status === 200 || answer.status === 503, `${name}: ${answer.status}`);
      (answer.status === 200 ? acknowledged : refused).add(name);
      if (answer.status === 200) counts[server]!++;
    }
  });
  const all = Promise.all(writers);
  all.catch(() => {});
  const progress = (wanted: (server: number) => boolean) => {
    const before = [...counts];
    return until(() => counts.every((count, server) => !wanted(server) || count > before[server]! + 20));
  };
  await progress(() => true);
  const [frozen] = servers;
  frozen!.kill("SIGSTOP");
  await progress((server) => server !== 0);
  frozen!.kill("SIGCONT");
  await progress(() => true);
  isOver = true;
  await within(all, () => "a write never ended");

  const names: string[] = [];
  for (let pageToken = ""; ; ) {
    const query = `uidp.children_of=${orgUid}&page_size=200&page_token=${encodeURIComponent(pageToken)}`;
    const page = (await get(urls[1]!, `/iam/v2/groups?${query}`, token)).json as { groups: { name: string }[]; nextPageToken?: string };
    names.push(...page.groups.map(({ name }) => name));
    pageToken = page.nextPageToken ?? "";
    if (pageToken === "") break;
  }
  const written = names.filter((name) => name.startsWith("group-"));
  assert.equal(new Set(written).size, written.length, "a write happened twice");
  assert.deepEqual(
    [...acknowledged].filter((name) => !written.includes(name)),
    [],
  );
  assert.deepEqual(
    written.filter((name) => !acknowledged.has(name) && !refused.has(name)),
    [],
  );
  t.diagnostic(`${acknowledged.size} acknowledged writes, ${refused.size} refused`);
});
