/** A server that is killed under writes, and whose disk is then lost, is restored from the archive of its write-ahead log. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { constants } from "node:fs";
import { open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { openFolderTarget } from "../../src/backup/folder-target.ts";
import { blobPath } from "../../src/backup/snapshot.ts";
import { type BackupTarget, NoSuchObject } from "../../src/backup/target.ts";
import { listBases, listSegments, readSegment, segmentPath } from "../../src/backup/wal-archive/archive-form.ts";
import { findLastCommit, logsBetween, openWal, readWalHeader, type WalPosition } from "../../src/db/wal-file.ts";
import { S3_CREDENTIALS, type S3Fault, type S3Server, startS3Server } from "../harness/blobs/s3-server.ts";
import { send } from "../harness/clients.ts";
import { freePort } from "../harness/free-port.ts";
import { get, printedToken, runHoltd, type Settings, startHoltd, startProcess, temporaryFolder } from "../harness/holtd.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";

const WRITERS = 3;
const LAYER = "a layer";
const REPOSITORY = "my-org/app";
/** More than the client of S3 repeats. */
const REQUESTS_OF_OUTAGE = 12;

interface Place {
  /** For `HOLT_WAL_ARCHIVE`. */
  readonly name: string;
  /** The archive as the test sees it. */
  readonly target: BackupTarget;
  /** The data folder of the server that is killed. */
  readonly dataDir: string;
}

interface Session {
  readonly url: string;
  readonly token: string;
  readonly org: string;
}

/** Names of groups, in the order of the requests and of the answers. */
interface Ledger {
  readonly asked: string[];
  readonly acknowledged: string[];
}

/** @returns whether the server acknowledged the group; false if it is gone */
async function createGroup({ url, token, org }: Session, agent: Agent, name: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await send(agent, url, "POST", `/iam/v2/groups/${org}`, headers, JSON.stringify({ name })).catch(() => undefined);
  if (answer !== undefined) assert.equal(answer.status, 200, answer.text);
  return answer !== undefined;
}

/** Creates groups one after the other until the server is gone, or until the signal. */
async function writeMany(session: Session, prefix: string, { asked, acknowledged }: Ledger, signal: AbortSignal): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; !signal.aborted; i++) {
    const name = `${prefix}-${i}`;
    asked.push(name);
    if (!(await createGroup(session, agent, name))) break;
    acknowledged.push(name);
  }
  agent.destroy();
}

/** The end of the server's log. */
async function endOfLog(dataDir: string): Promise<WalPosition> {
  await using file = await openWal(join(dataDir, "holt.db"));
  assert.ok(file);
  for (;;) {
    const header = await readWalHeader(file);
    const last = header && (await findLastCommit(file, header, header.start));
    // The server may have begun a new log meanwhile.
    if (last !== undefined && (await readWalHeader(file))?.start.salt === last.salt) return last;
  }
}

/** Waits until the archive can restore all writes that were acknowledged before the call. */
async function untilArchived({ target, dataDir }: Place): Promise<void> {
  const { salt, frame } = await endOfLog(dataDir);
  let seen = "";
  await until(async () => {
    const base = (await listBases(target)).at(-1);
    const last = base && (await listSegments(target, base.chain)).at(-1);
    if (last === undefined || segmentPath(last) === seen) return false;
    const segment = await readSegment(target, last).catch((error: unknown) => {
      if (!(error instanceof NoSuchObject)) throw error;
    });
    // The server removed it after a new base.
    if (segment === undefined) return false;
    seen = segmentPath(last);
    const { to } = segment;
    const logs = logsBetween(salt, to.salt);
    return logs > 0 || (logs === 0 && to.frame >= frame);
  });
}

/**
 * Runs a server under writes and kills it.
 * @param before runs before the kill, under writes
 * @returns the writes that the archive must have
 */
async function killUnderWrites(
  settings: Settings,
  place: Place,
  round: string,
  ledger: Ledger,
  before: (session: Session) => Promise<void>,
  known?: Session,
) {
  await using server = await startHoltd(settings);
  const session = await sessionOf(settings, known);
  const stop = new AbortController();
  const writers = Promise.all(Array.from({ length: WRITERS }, (_, i) => writeMany(session, `${round}-w${i}`, ledger, stop.signal)));
  const work = (async () => {
    await before(session);
    const enough = ledger.acknowledged.length + 30;
    await until(() => ledger.acknowledged.length >= enough);
    const certain = [...ledger.acknowledged];
    await untilArchived(place);
    return { certain, session };
  })();
  try {
    return await Promise.race([work, writers.then(() => assert.fail("the server was gone before it was killed"))]);
  } finally {
    server.kill("SIGKILL");
    stop.abort();
    await Promise.allSettled([writers, work, server.ended]);
  }
}

/** @param known of another server with the same database */
async function sessionOf(settings: Settings, known?: Session): Promise<Session> {
  const url = `http://${settings.HOLT_LISTEN}`;
  if (known !== undefined) return { ...known, url };
  const token = await printedToken(settings);
  const { json } = await get(url, "/iam/v2/groups?uidp.in_root=true", token);
  return { url, token, org: (json as { groups: { uid: string }[] }).groups[0]?.uid ?? "" };
}

/** Names of the groups in the database of a server that does not run. */
function groupNames(dataDir: string): Set<string> {
  using database = new DatabaseSync(join(dataDir, "holt.db"), { readOnly: true });
  return new Set(
    database
      .prepare(`select name from "group"`)
      .all()
      .map(({ name }) => String(name)),
  );
}

/** Asserts that the restored writes are those that the archive must have, and others without a hole. @returns the lost writes */
function assertRestored(found: ReadonlySet<string>, certain: readonly string[], { asked, acknowledged }: Ledger): string[] {
  for (const name of certain) assert.ok(found.has(name), `${name} was archived and is lost`);
  const lost = acknowledged.filter((name) => !found.has(name));
  // Writers wait for each answer, so a write cannot be there if an earlier one of the same writer is lost.
  for (const name of lost) {
    const [prefix, index] = [name.slice(0, name.lastIndexOf("-")), Number(name.slice(name.lastIndexOf("-") + 1))];
    assert.ok(!found.has(`${prefix}-${index + 1}`), `${name} is lost, and the write after it is not`);
  }
  const known = new Set(asked);
  for (const name of found) assert.ok(known.has(name) || !/^r\d-w/.test(name), `nobody asked for ${name}`);
  return lost;
}

async function restore(place: Place, at: string, settings: Settings): Promise<void> {
  const { HOLT_WAL_ARCHIVE: _, ...rest } = settings;
  const { code, stdout, stderr } = await runHoltd(["restore", "--at", at, place.name], rest);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, / 0 are missing/);
}

/** Verifies a restored installation, and uses it: its image, its secrets and its writes. */
async function assertUsable(settings: Settings, known: Session, digest: string): Promise<void> {
  const check = await runHoltd(["verify"], settings);
  assert.equal(check.code, 0, check.stderr + check.stdout);
  assert.match(check.stdout, /: no problems\.$/m);
  await using server = await startHoltd(settings);
  const session = await sessionOf(settings, known);
  using client = createRegistryClient(session.url, basic("_token", session.token));
  assert.equal((await client.send("GET", `${REPOSITORY}/blobs/${digest}`)).body.toString(), LAYER);
  using agent = disposableAgent();
  assert.ok(await createGroup(session, agent.agent, "after-the-restore"));
  assert.doesNotMatch(server.stderr(), /"level":50/);
}

function disposableAgent(): Disposable & { readonly agent: Agent } {
  const agent = new Agent();
  return { agent, [Symbol.dispose]: () => agent.destroy() };
}

async function settingsOf(dataDir: string, env: Settings): Promise<Settings & { readonly HOLT_DATA_DIR: string }> {
  const common = { HOLT_BASE_URL: "http://127.0.0.1:8096", HOLT_BACKUP_PASSPHRASE: "correct horse", HOLT_LOG_LEVEL: "error" };
  return { ...env, ...common, HOLT_DATA_DIR: dataDir, HOLT_LISTEN: `127.0.0.1:${await freePort()}` };
}

/** Pushes an image, and backs up the key and the blobs, which the archive does not have. @returns the digest of a blob */
async function backUp({ url, token }: Session, settings: Settings, place: Place): Promise<string> {
  using client = createRegistryClient(url, basic("_token", token));
  const { digest } = await client.blob(REPOSITORY, LAYER);
  const { code, stderr } = await runHoltd(["backup", place.name], settings);
  assert.equal(code, 0, stderr);
  return digest;
}

interface Moment {
  /** In milliseconds since 1970. */
  readonly time: number;
  readonly certain: readonly string[];
  /** Number of writes that were asked for until then. */
  readonly asked: number;
}

/** The newest moment that the archive can restore, under writes. */
async function momentOf(place: Place, { asked, acknowledged }: Ledger): Promise<Moment> {
  const certain = [...acknowledged];
  await untilArchived(place);
  let time = 0;
  // No moment before the base can be restored, and its first segments may be older than it is.
  await until(async () => {
    time = (await listSegments(place.target)).at(-1)?.time ?? 0;
    return time >= ((await listBases(place.target)).at(-1)?.time ?? Number.POSITIVE_INFINITY);
  });
  return { time, certain, asked: asked.length };
}

/** The objects of a bucket below a prefix, without requests. */
function seenIn({ objects }: S3Server, prefix: string): BackupTarget {
  const unused = () => assert.fail("the test only looks");
  return {
    ...{ name: prefix, scratch: undefined, write: unused, sizeOf: unused, remove: unused, removeLeftovers: unused },
    read: async (path) => Readable.from([objects.get(prefix + path).bytes]),
    async *list(folder) {
      for (const key of objects.keys()) if (key.startsWith(`${prefix}${folder}/`)) yield { path: key.slice(prefix.length), size: 0 };
    },
    [Symbol.dispose]() {},
  };
}

/** Refuses everything until the server has given up some requests. Writes go on meanwhile. */
async function outage(s3: S3Server): Promise<void> {
  let refused = 0;
  s3.fault = () => {
    refused++;
    return { code: "SlowDown", status: 503 };
  };
  await until(() => refused > REQUESTS_OF_OUTAGE);
  s3.fault = undefined;
}

/** Applies one of the faults to every fifth request of an operation. */
function faultsOf(wanted: string, ...faults: S3Fault[]): S3Server["fault"] {
  let count = 0;
  return ({ operation }) => {
    if (operation !== wanted || ++count % 5 !== 0) return undefined;
    return faults[(count / 5) % faults.length];
  };
}

test("an archive in a folder restores a server that was killed twice, and then lost its disk", async (t) => {
  await using folder = await temporaryFolder();
  const name = join(folder.path, "archive");
  const first = join(folder.path, "first");
  const place = { name, target: await openFolderTarget(name, "write"), dataDir: first };
  const ledger: Ledger = { asked: [], acknowledged: [] };
  let digest = "";
  const env = { HOLT_WAL_ARCHIVE: name };
  const settings = await settingsOf(first, env);
  const { session } = await killUnderWrites(settings, place, "r0", ledger, async (session) => {
    digest = await backUp(session, settings, place);
  });
  const [base] = await listBases(place.target);
  const { certain } = await killUnderWrites(await settingsOf(first, env), place, "r1", ledger, async () => {}, session);
  assert.deepEqual(
    (await listBases(place.target)).map(({ time }) => time),
    [base?.time],
    "a killed server continues its archive",
  );
  await rm(first, { recursive: true });

  const second = await settingsOf(join(folder.path, "second"), {});
  await restore(place, "latest", second);
  report(t, ledger, assertRestored(groupNames(second.HOLT_DATA_DIR), certain, ledger));
  await assertUsable(second, session, digest);
});

test("an archive in S3 that fails now and then restores a server that was killed, also to an earlier moment", async (t) => {
  await using folder = await temporaryFolder();
  await using s3 = await startS3Server();
  const { HOLT_BLOBS: _, ...bucket } = s3.env;
  const env = { ...bucket, AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey };
  const first = join(folder.path, "first");
  const place = { name: "s3://blobs/archive", target: seenIn(s3, "archive/"), dataDir: first };
  const ledger: Ledger = { asked: [], acknowledged: [] };
  const settings = await settingsOf(first, { ...env, HOLT_WAL_ARCHIVE: place.name });
  let moment: Moment | undefined;
  const { certain } = await killUnderWrites(settings, place, "r0", ledger, async () => {
    await outage(s3);
    s3.fault = faultsOf("PutObject", { code: "SlowDown", status: 503 }, "lose", { cut: 0 });
    moment = await momentOf(place, ledger);
  });
  assert.ok(moment);
  await rm(first, { recursive: true });

  s3.fault = faultsOf("GetObject", { code: "InternalError", status: 500 }, { cut: 100 }, { code: "SlowDown", status: 503 });
  const earlier = await settingsOf(join(folder.path, "earlier"), env);
  await restore(place, new Date(moment.time).toISOString(), earlier);
  const found = groupNames(earlier.HOLT_DATA_DIR);
  assertRestored(found, moment.certain, ledger);
  for (const name of ledger.asked.slice(moment.asked)) assert.ok(!found.has(name), `${name} was written after the moment`);

  const second = await settingsOf(join(folder.path, "second"), env);
  await restore(place, "latest", second);
  report(t, ledger, assertRestored(groupNames(second.HOLT_DATA_DIR), certain, ledger));
});

test("a restore that was interrupted, while it copied blobs or in its check, is continued by the same command", async () => {
  await using folder = await temporaryFolder();
  const name = join(folder.path, "archive");
  const first = join(folder.path, "first");
  const place = { name, target: await openFolderTarget(name, "write"), dataDir: first };
  let digest = "";
  const settings = await settingsOf(first, { HOLT_WAL_ARCHIVE: name });
  const { session } = await killUnderWrites(settings, place, "r0", { asked: [], acknowledged: [] }, async (session) => {
    digest = await backUp(session, settings, place);
  });
  for (const [kind, options] of Object.entries({ point: ["--at", "latest"], snapshot: [] })) {
    const restored = await settingsOf(join(folder.path, kind), {});
    const args = ["restore", ...options, name];
    const mustRestore = async () => {
      const { code, stderr } = await runHoltd(args, restored);
      assert.equal(code, 0, `${kind}: ${stderr}`);
    };
    await interruptAt(join(name, blobPath(digest)), args, restored);
    const marker = join(restored.HOLT_DATA_DIR, "restore.json");
    const claim = await readFile(marker);
    await mustRestore();
    // A restore that is interrupted in the check at its end leaves the folder so.
    await writeFile(marker, claim);
    await mustRestore();
    await assertUsable(restored, session, digest);
  }
});

/** Kills the command while it reads a file, for which it has to wait. The file is as before afterwards. */
async function interruptAt(path: string, args: readonly string[], settings: Settings): Promise<void> {
  await rename(path, `${path}.away`);
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  {
    await using command = startProcess(args, settings);
    await using stack = new AsyncDisposableStack();
    // A pipe can be opened for writing without waiting once a process reads it.
    await until(async () => {
      const writer = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => undefined);
      if (writer !== undefined) stack.use(writer);
      return writer !== undefined;
    });
    command.kill("SIGKILL");
    assert.equal((await command.ended).signal, "SIGKILL", command.stderr());
  }
  await rm(path);
  await rename(`${path}.away`, path);
}

function report(t: TestContext, { acknowledged }: Ledger, lost: readonly string[]): void {
  t.diagnostic(`${acknowledged.length} acknowledged writes, of which the last ${lost.length} are lost`);
}
