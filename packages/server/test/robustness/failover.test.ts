/** Servers follow PostgreSQL to a promoted standby, and nothing that was acknowledged is lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer, type TestServer } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { query, startPostgresPair } from "../harness/robustness/postgres-pair.ts";
import { giveTime, until } from "../harness/wait.ts";

test("servers go on with the promoted standby, and keep every acknowledged write", async (t) => {
  await using pair = await startPostgresPair();
  await using folder = await temporaryFolder();
  const env = { HOLT_DATABASE_URL: pair.url, HOLT_DATA_DIR: folder.path };
  await using one = await startServer({ env });
  await using two = await startServer({ env: { ...env, HOLT_BASE_URL: one.baseUrl } });
  const writers = [one, two].map((server, index) => startWriter(server, `writer-${index}`));
  const progress = () => {
    const before = writers.map(({ acknowledged }) => acknowledged.length);
    return until(() => writers.every(({ acknowledged }, index) => acknowledged.length > before[index]! + 10));
  };
  await progress();
  await pair.primary.crash();
  await until(() => writers.every(({ refused }) => refused.length > 0));
  await pair.promote();
  await progress();
  for (const writer of writers) await writer.stop();

  const rows = await query(pair.standby.url, `select body::json ->> 'name' as name from "group" where parent = '${one.orgUid}'`);
  const names = rows.map(({ name }) => name ?? "");
  assert.equal(new Set(names).size, names.length, "a write happened twice");
  for (const { acknowledged, refused, unknown } of writers) {
    assert.deepEqual(
      acknowledged.filter((name) => !names.includes(name)),
      [],
      "acknowledged writes are lost",
    );
    assert.deepEqual(
      refused.filter((name) => names.includes(name)),
      [],
      "refused writes happened",
    );
    t.diagnostic(`${acknowledged.length} acknowledged writes, ${refused.length} refused, ${unknown.length} of unknown outcome`);
  }
  // A server also starts while one of the hosts is down.
  await using three = await startServer({ env: { ...env, HOLT_BASE_URL: one.baseUrl } });
  assert.equal((await three.http("GET", "/readyz")).status, 200);
});

interface Writer {
  readonly acknowledged: string[];
  readonly refused: string[];
  readonly unknown: string[];
  stop(): Promise<void>;
}

/** Creates groups one after the other. Each call that failed without an effect says when to repeat it. */
function startWriter({ http, orgUid }: TestServer, prefix: string): Writer {
  const [acknowledged, refused, unknown]: string[][] = [[], [], []];
  let isOver = false;
  async function run(): Promise<void> {
    for (let i = 0; !isOver; i++) {
      const name = `${prefix}-${i}`;
      const { status, headers, text } = await http("POST", `/iam/v2/groups/${orgUid}`, JSON.stringify({ name }));
      if (status === 200) acknowledged!.push(name);
      else if (/may or may not have taken effect/.test(text)) unknown!.push(name);
      else {
        assert.equal(status, 503, text);
        assert.equal(headers["retry-after"], "1", text);
        assert.match(text, /google\.rpc\.RetryInfo/);
        refused!.push(name);
      }
      if (status !== 200) await giveTime(20);
    }
  }
  const running = run();
  running.catch(() => {});
  return {
    ...{ acknowledged: acknowledged!, refused: refused!, unknown: unknown! },
    stop() {
      isOver = true;
      return running;
    },
  };
}
