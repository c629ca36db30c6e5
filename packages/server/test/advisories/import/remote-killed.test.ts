/** The server is killed or stopped in the middle of an import: the next one brings it to its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeJwt } from "jose";
import pg from "pg";
import { secdbOf } from "../../harness/advisories/remote-client.ts";
import { freePort } from "../../harness/free-port.ts";
import { createInstallation, printedToken, type Settings, startHoltd, temporaryFolder } from "../../harness/holtd.ts";
import { createMigratedDatabase } from "../../harness/migrated-database.ts";
import { until } from "../../harness/wait.ts";

const RECORDS = 8000;

interface Answer {
  readonly uid: string;
  readonly state: string;
  readonly counts: Readonly<Record<string, string>>;
  readonly groups: readonly { readonly uid: string }[];
}

/** @param meanwhile runs between the end of the server and the start of the next one */
async function endAndResume(signal: "SIGKILL" | "SIGTERM", settings: Settings, meanwhile = async () => {}): Promise<void> {
  await createInstallation(settings);
  const token = await printedToken(settings);
  const call = async (base: string, method: string, path: string, body?: object): Promise<Answer> => {
    const text = body === undefined ? null : JSON.stringify(body);
    const answer = await fetch(base + path, { method, headers: { authorization: `Bearer ${token}` }, body: text });
    assert.equal(answer.status, 200, `${method} ${path}`);
    return (await answer.json()) as Answer;
  };
  let uid = "";
  {
    await using server = await startHoltd(settings);
    const { baseUrl } = server;
    const { groups } = await call(baseUrl, "GET", "/iam/v2/groups?uidp.in_root=true");
    const organization = groups[0]?.uid ?? "";
    const role = await call(baseUrl, "POST", `/iam/v2/roles/${organization}`, {
      name: "writer",
      capabilities: ["CAP_ADVISORIES_CREATE", "CAP_ADVISORIES_UPDATE", "CAP_ADVISORIES_LIST"],
    });
    await call(baseUrl, "POST", `/iam/v2/roleBindings/${organization}`, { identityUid: decodeJwt(token).sub, roleUid: role.uid });
    const bytes = secdbOf(RECORDS);
    uid = (await call(baseUrl, "POST", `/holt/v1/imports/${organization}`, { kind: "IMPORT_KIND_ADVISORIES", fileName: "main.json" })).uid;
    await call(baseUrl, "POST", `/holt/v1/imports/${uid}:write`, { data: bytes.toString("base64") });
    await call(baseUrl, "POST", `/holt/v1/imports/${uid}:start`, { size: String(bytes.length) });
    await until(async () => {
      const { state, counts } = await call(baseUrl, "GET", `/holt/v1/imports/${uid}`);
      assert.notEqual(state, "STATE_DONE", "it was over before the server could be killed");
      return state === "STATE_RUNNING" && Number(counts.read) > 0;
    });
    server.kill(signal);
    assert.equal((await server.ended).code, signal === "SIGKILL" ? null : 0);
  }
  await meanwhile();
  await using server = await startHoltd(settings);
  if (signal === "SIGTERM")
    assert.notEqual((await call(server.baseUrl, "GET", `/holt/v1/imports/${uid}`)).state, "STATE_DONE", "it was brought to its end before");
  let last: Answer | undefined;
  await until(async () => {
    last = await call(server.baseUrl, "GET", `/holt/v1/imports/${uid}`);
    return last.state === "STATE_DONE" || last.state === "STATE_FAILED";
  }, 240_000);
  const { state, counts } = last as unknown as Answer;
  assert.equal(state, "STATE_DONE");
  assert.deepEqual([Number(counts.read), Number(counts.problems)], [RECORDS, 0]);
  // What the killed server had stored was there already, and nothing twice.
  assert.ok(Number(counts.unchanged) > 0, JSON.stringify(counts));
  assert.equal(Number(counts.created) + Number(counts.unchanged), RECORDS);
}

test("an import continues at once after its server was killed, on SQLite", async () => {
  await using folder = await temporaryFolder();
  await endAndResume("SIGKILL", { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_LOG_LEVEL: "error" });
});

test("an import continues after its server was killed when the lease has expired, on PostgreSQL", async () => {
  await using folder = await temporaryFolder();
  const HOLT_DATABASE_URL = await createMigratedDatabase();
  const HOLT_LISTEN = `127.0.0.1:${await freePort()}`;
  const settings = { HOLT_DATABASE_URL, HOLT_DATA_DIR: folder.path, HOLT_LISTEN, HOLT_LOG_LEVEL: "error" };
  await endAndResume("SIGKILL", settings, () => expireLease(HOLT_DATABASE_URL));
});

/** The killed server has left its lease behind. Waiting for its end would take half a minute. */
async function expireLease(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rowCount } = await client.query("update advisory_import set lease_time = '2000-01-01' where lease_time is not null");
  assert.equal(rowCount, 1);
  await client.end();
}

test("a stopping server releases its import, and the next server continues it", async () => {
  await using folder = await temporaryFolder();
  const HOLT_DATABASE_URL = await createMigratedDatabase();
  const HOLT_LISTEN = `127.0.0.1:${await freePort()}`;
  await endAndResume("SIGTERM", { HOLT_DATABASE_URL, HOLT_DATA_DIR: folder.path, HOLT_LISTEN, HOLT_LOG_LEVEL: "error" });
});
