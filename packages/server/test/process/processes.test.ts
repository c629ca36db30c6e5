/** Tests holtd with HOLT_PROCESSES from outside: several server processes on one port. */
import assert from "node:assert/strict";
import { copyFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { get, runHoltd, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { linesOf, metricValue } from "../harness/metrics.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { type OpenCall, openCall } from "../harness/open-call.ts";
import { type Line, lineToEach, logLines, type ProcessesFixture, readyPids, startProcesses } from "../harness/processes.ts";
import { createReader } from "../harness/robustness/reader.ts";
import { giveTime, until, within } from "../harness/wait.ts";

const COUNT = 2;
/** A process without news of changed rights for this long uses no cached rights. Timers may end a millisecond early. */
const NEWS_LEASE_MS = 1010;

/** One running call on each process. */
async function openCallOnEach(fixture: ProcessesFixture): Promise<OpenCall[]> {
  return [await openCall(fixture), await openCall(fixture)];
}

async function assertAnswered(calls: readonly OpenCall[]): Promise<void> {
  for (const { finish } of calls) finish();
  for (const { answer } of calls) assert.match(await within(answer, () => "no answer"), /\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
}

/** Numbers of the processes that logged the message. */
function loggedBy({ server }: ProcessesFixture, message: RegExp): number[] {
  return logLines(server)
    .flatMap(({ msg, process }) => (message.test(msg) && process !== undefined ? [process] : []))
    .sort();
}

test("a connection that a process was given and did not take is closed when the process is killed", async () => {
  await using fixture = await startProcesses(COUNT);
  const [frozen = 0] = readyPids(fixture.server);
  process.kill(frozen, "SIGSTOP");
  let answered = 0;
  const call = async () => {
    const { status } = await fetch(`${fixture.server.baseUrl}/healthz`);
    answered++;
    return status;
  };
  // The frozen process gets one of the connections, and the other process gets the rest.
  const calls = Promise.allSettled([call(), call(), call(), call()]);
  await until(() => answered === 3);
  process.kill(frozen, "SIGKILL");
  const outcomes = await within(calls, () => "a call has no answer");
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "fulfilled", "fulfilled", "rejected"]);
});

test("a process that cannot be replaced at once is replaced later, and the others serve meanwhile", async () => {
  await using folder = await temporaryFolder();
  const node = join(folder.path, "node");
  await copyFile(process.execPath, node);
  await using fixture = await startProcesses(COUNT, {}, node);
  const [killed = 0] = readyPids(fixture.server);
  // As while a package manager replaces the program.
  await rename(node, `${node}.away`);
  process.kill(killed, "SIGKILL");
  await until(() => logLines(fixture.server).some(({ msg }) => msg === "a server process could not be started"));
  assert.equal((await fetch(`${fixture.server.baseUrl}/readyz`)).status, 200);
  await rename(`${node}.away`, node);
  await until(async () => metricValue(await fixture.scrape(), "holt_processes_serving") === COUNT);
  assert.equal((await fetch(`${fixture.server.baseUrl}/readyz`)).status, 200);
});

describe("several server processes on one port", () => {
  let fixture: ProcessesFixture;
  let lines: readonly Line[] = [];
  before(async () => {
    fixture = await startProcesses(COUNT);
    lines = await lineToEach(fixture, COUNT);
  });
  after(async () => {
    for (const line of lines) line[Symbol.dispose]();
    await fixture?.[Symbol.asyncDispose]();
  });

  test("all processes serve, and one of them printed one welcome with one sign-in link", async () => {
    assert.deepEqual(
      lines.map(({ process }) => process),
      [1, 2],
    );
    const text = fixture.server.stdout();
    assert.equal(text.match(/Holt is ready/g)?.length, 1);
    assert.equal(text.match(/signs you in, once/g)?.length, 1);
    assert.match(text, /^ {2}processes 2$/m);
    assert.equal((await fetch(`${fixture.server.baseUrl}/readyz`)).status, 200);
  });

  test("one scrape has the metrics of all processes, each with its number", async () => {
    for (const line of lines) assert.equal(await line.call("GET", `/iam/v2/groups/${fixture.orgUid}`, fixture.token), 200);
    const text = await fixture.scrape();
    for (const process of ["1", "2"]) {
      assert.ok((metricValue(text, "holt_calls_total", { process }) ?? 0) > 0, `no calls of process ${process}`);
      assert.ok((metricValue(text, "process_resident_memory_bytes", { process }) ?? 0) > 0);
    }
    assert.equal(metricValue(text, "holt_processes_serving"), COUNT);
    const types = text.split("\n").filter((line) => line.startsWith("# TYPE "));
    assert.equal(new Set(types).size, types.length, "a metric is declared twice");
    assert.ok(text.endsWith("# EOF\n") && text.indexOf("# EOF") === text.length - "# EOF\n".length);
    assert.ok(linesOf(text).every(({ labels }) => labels.process !== undefined));
  });

  test("a revocation at one process holds at the others a second later", async () => {
    for (const [revoker, other] of [lines, [...lines].reverse()] as [Line, Line][]) {
      const { uid: group } = await fixture.post(`/iam/v2/groups/${fixture.orgUid}`, { name: `secret of ${revoker.process}` });
      const { token, binding } = await createReader({ url: fixture.server.baseUrl, post: fixture.post }, group);
      const path = `/iam/v2/groups/${group}`;
      for (const line of lines) assert.equal(await line.call("GET", path, token), 200);
      assert.equal(await revoker.call("DELETE", `/iam/v2/roleBindings/${binding}`, fixture.token), 200);
      assert.equal(await revoker.call("GET", path, token), 403);
      await giveTime(NEWS_LEASE_MS);
      assert.equal(await other.call("GET", path, token), 403);
    }
  });

  test("a killed process is replaced, the other one serves on, and no acknowledged write is lost", async () => {
    const { server, orgUid, token, post } = fixture;
    const { uid: parent } = await post(`/iam/v2/groups/${orgUid}`, { name: "written" });
    const acknowledged = new Set<string>();
    let isOver = false;
    const writer = async () => {
      while (!isOver) {
        // Calls to the killed process fail, and are not acknowledged.
        const made = await post(`/iam/v2/groups/${parent}`, { name: "child" }).catch(() => undefined);
        if (made !== undefined) acknowledged.add(made.uid);
      }
    };
    const writers = Promise.all([writer(), writer(), writer(), writer()]);
    await until(() => acknowledged.size > 20);
    const [first = 0] = readyPids(server);
    process.kill(first, "SIGKILL");
    await until(() => readyPids(server).length > COUNT);
    const before = acknowledged.size;
    await until(() => acknowledged.size > before + 20);
    isOver = true;
    await writers;
    const found = new Set<string>();
    for (let pageToken = ""; ; ) {
      const query = `uidp.children_of=${parent}&page_size=100&page_token=${encodeURIComponent(pageToken)}`;
      const page = (await get(server.baseUrl, `/iam/v2/groups?${query}`, token)).json as {
        groups: { uid: string }[];
        nextPageToken?: string;
      };
      for (const { uid } of page.groups) found.add(uid);
      pageToken = page.nextPageToken ?? "";
      if (pageToken === "") break;
    }
    assert.deepEqual(
      [...acknowledged].filter((uid) => !found.has(uid)),
      [],
    );
    assert.equal(metricValue(await fixture.scrape(), "holt_process_restarts_total"), 1);
    const ended = logLines(server).find(({ msg }) => msg.startsWith("a server process ended"));
    assert.deepEqual([ended?.level, ended?.pid], [50, first]);
  });

  // The last one: it stops the server.
  test("SIGTERM ends running calls of all processes, also if it reaches the processes themselves", async () => {
    const { server, port } = fixture;
    const calls = await openCallOnEach(fixture);
    // As systemd does, and a terminal with Ctrl+C.
    for (const pid of readyPids(server).slice(1)) process.kill(pid, "SIGTERM");
    server.kill("SIGTERM");
    await until(() => loggedBy(fixture, /^stopping: waiting/).length === COUNT);
    await until(() =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    await assertAnswered(calls);
    assert.equal((await within(server.ended, () => "did not end")).code, 0);
    assert.deepEqual(loggedBy(fixture, /^stopped$/), [1, 2]);
  });
});

describe("the supervisor of server processes", () => {
  test("servers whose supervisor was killed answer their running calls and end", async () => {
    await using fixture = await startProcesses(COUNT);
    const calls = await openCallOnEach(fixture);
    fixture.server.kill("SIGKILL");
    await assertAnswered(calls);
    // The processes have the standard output of the supervisor, which is closed when the last of them has ended.
    await within(fixture.server.ended, () => "a process did not end");
  });

  test("the supervisor gives up if no process serves and starts fail again and again", async () => {
    await using folder = await temporaryFolder();
    const HOLT_CONFIG = join(folder.path, "holt.yaml");
    await writeFile(HOLT_CONFIG, "HOLT_LOG_LEVEL: info\n");
    await using fixture = await startProcesses(COUNT, { HOLT_CONFIG });
    await writeFile(HOLT_CONFIG, "HOLT_NONSENSE: 1\n");
    for (const pid of readyPids(fixture.server)) process.kill(pid, "SIGKILL");
    const { code, stderr } = await within(fixture.server.ended, () => "did not end");
    assert.equal(code, 1);
    assert.match(stderr, /"level":60,.*"msg":"giving up: server processes end before they are ready, and none serves"/);
    assert.match(stderr, /^holtd: invalid settings:\nHOLT_NONSENSE: is not a setting/m);
  });

  test("a problem that keeps the first process from starting is reported once", async () => {
    await using folder = await temporaryFolder();
    const squatter = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => squatter.once("listening", resolve));
    const { port } = squatter.address() as { port: number };
    const { code, stdout, stderr } = await runHoltd([], {
      ...{ HOLT_PROCESSES: "3", HOLT_DATABASE_URL: await createMigratedDatabase(), HOLT_DATA_DIR: folder.path },
      ...{ HOLT_LISTEN: `127.0.0.1:${port}`, HOLT_LOG_LEVEL: "error" },
    });
    squatter.close();
    assert.equal(code, 1);
    assert.match(stderr, /^holtd: cannot listen on 127\.0\.0\.1 port \d+: the address is in use.*HOLT_LISTEN.*\n$/);
    assert.equal(stdout, "");
  });

  test("several processes with SQLite are refused, and one process is a server without a supervisor", async () => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await runHoltd([], { HOLT_PROCESSES: "2", HOLT_DATA_DIR: folder.path });
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /HOLT_PROCESSES above 1 needs PostgreSQL \(HOLT_DATABASE_URL\)/);
    await using server = await startHoltd({
      HOLT_PROCESSES: "1",
      HOLT_DATA_DIR: folder.path,
      HOLT_LISTEN: `127.0.0.1:${await freePort()}`,
    });
    assert.doesNotMatch(server.stdout(), /processes/);
    server.kill("SIGTERM");
    const ended = await within(server.ended, () => "did not end");
    assert.equal(ended.code, 0);
    assert.doesNotMatch(ended.stderr, /"process":/);
  });
});
