/** Sealed entries reach a file, a syslog server and a webhook, in order and at least once, and retention keeps chains intact. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { AuditService, VerifyAuditChainResponse_Problem as Problem } from "@holt/api/gen/holt/v1/audit_pb.ts";
import type { ChainEntry } from "../../src/auditing/chain/block.ts";
import { lineOf } from "../../src/auditing/entry-line.ts";
import { startStream } from "../../src/auditing/streams/stream.ts";
import { verifyLines } from "../../src/auditing/verify-lines.ts";
import { createLog } from "../../src/lib/log.ts";
import { sha256Hex } from "../../src/lib/sha256.ts";
import { storeNames } from "../harness/harness.ts";
import { startProcess } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";
import { accept, answer, startWebhookReceiver } from "../harness/webhook-receiver.ts";
import { startWorld, type World } from "../harness/world.ts";
import { appendLargeEntries, sealAll } from "./audit-log.ts";

/** An entry as `ORGANIZATION NUMBER`. */
type Name = string;

/** Creates folders and waits until the target has the entries of all of them. */
async function untilStreamed(world: World, streamed: () => Name[] | Promise<Name[]>): Promise<Name[]> {
  for (let i = 0; i < 5; i++) await world.group(world.orgUid, `streamed-${i}`);
  await sealAll(world);
  const { number } = await world.store.reader
    .selectFrom("audit_chain")
    .select("number")
    .where("org_uid", "=", world.orgUid)
    .executeTakeFirstOrThrow();
  await until(async () => (await streamed()).includes(`${world.orgUid} ${number}`));
  return streamed();
}

function nameOf(line: string): Name {
  const { organization, number } = JSON.parse(line) as { organization: string; number: number };
  return `${organization} ${number}`;
}

/** Without the last line while it is being written. */
const namesIn = (text: string) => text.split("\n").slice(0, -1).map(nameOf);

/** Entries may be sent twice, but none of a chain is missing. */
function assertWithoutGaps(names: readonly Name[]): void {
  for (const ofChain of Map.groupBy(new Set(names), (name) => name.split(" ")[0]).values()) {
    const numbers = ofChain.map((name) => Number(name.split(" ")[1])).toSorted((a, b) => a - b);
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => (numbers[0] ?? 0) + index),
    );
  }
}

/** Messages with their lengths before them. The last one may not have arrived completely. */
function messagesIn(text: string): string[] {
  const messages: string[] = [];
  for (let at = 0; ; ) {
    const [prefix = "", length = ""] = /^(\d+) /.exec(text.slice(at, at + 10)) ?? [];
    const start = at + prefix.length;
    if (prefix === "" || text.length < start + Number(length)) return messages;
    at = start + Number(length);
    messages.push(text.slice(start, at));
  }
}

async function listen(onConnection: (socket: Socket) => void): Promise<{ server: Server; port: number }> {
  const server = createServer({ allowHalfOpen: false }, onConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as { port: number }).port };
}

test("a stream begins at once where a killed server has left its lease behind in an embedded database", async () => {
  await using world = await startWorld({ store: "sqlite" });
  const url = new URL("https://receiver.test/audit");
  const lease = { lease_holder: "killed", lease_time: new Date(world.clock.now().getTime() + 60_000).toISOString() };
  const name = `audit_stream ${sha256Hex(url.href)}`;
  await world.store.transaction((db) =>
    db
      .insertInto("server_state")
      .values({ name, value: "0.0", ...lease })
      .execute(),
  );
  const names: Name[] = [];
  const target = async (entries: readonly ChainEntry[]) => void names.push(...entries.map((entry) => nameOf(lineOf(entry))));
  await using _stream = startStream(url, target, { store: world.store, clock: world.clock, log: createLog("silent") });
  assertWithoutGaps(await untilStreamed(world, () => names));
});

for (const store of storeNames) {
  test(`entries are appended to a file that holtd audit verify accepts, on ${store}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "holt-audit-"));
    try {
      const path = join(folder, "audit.jsonl");
      await using world = await startWorld({ store, env: { HOLT_AUDIT_STREAMS: `file://${path}` } });
      const read = async () => namesIn(await readFile(path, "utf8").catch(() => ""));
      const names = await untilStreamed(world, read);
      assertWithoutGaps(names);
      assert.deepEqual(names, [...new Set(names)]);
      await using command = startProcess(["audit", "verify", "--file", path], {});
      const ended = await command.ended;
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      const lines = (await readFile(path, "utf8")).split("\n").filter(Boolean);
      const damaged = lines.map((line, index) => (index === lines.length - 2 ? line.replace('"outcome":"OK"', '"outcome":"ok"') : line));
      const { problem } = await verifyLines(Readable.from(damaged));
      assert.equal(problem?.line, lines.length - 1);
      const { problem: gap } = await verifyLines(Readable.from(lines.toSpliced(lines.length - 2, 1)));
      assert.match(gap?.description ?? "", /removed/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test(`a webhook that fails gets the same entries again, on ${store}`, async () => {
    await using receiver = await startWebhookReceiver();
    receiver.behave(answer(500));
    const env = { HOLT_AUDIT_STREAMS: `${receiver.url}/audit`, HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" };
    await using world = await startWorld({ store, env });
    await world.group(world.orgUid, "refused");
    await until(() => receiver.received.length >= 2);
    const failed = receiver.received.length;
    receiver.behave(accept);
    const bodies = () => receiver.received.slice(failed).map(({ body }) => body.toString());
    assertWithoutGaps(await untilStreamed(world, () => bodies().flatMap(namesIn)));
    const first = namesIn(receiver.received[0]?.body.toString() ?? "")[0];
    assert.equal(
      bodies()
        .flatMap(namesIn)
        .includes(first ?? ""),
      true,
    );
    assert.match(String(receiver.received[0]?.headers.authorization), /^Bearer ey/);
  });

  test(`a webhook gets large entries in batches of a bounded size, on ${store}`, async () => {
    await using receiver = await startWebhookReceiver();
    const env = { HOLT_AUDIT_STREAMS: `${receiver.url}/audit`, HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" };
    await using world = await startWorld({ store, env });
    await appendLargeEntries(world, 50);
    assertWithoutGaps(await untilStreamed(world, () => receiver.received.flatMap(({ body }) => namesIn(body.toString()))));
    const largest = Math.max(...receiver.received.map(({ body }) => body.length));
    assert.ok(largest < 1.5 * 1024 * 1024, `a batch has ${largest} bytes`);
  });

  test(`a line of a file that was cut off, such as by a full disk, is removed before the next entries, on ${store}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "holt-audit-"));
    try {
      const path = join(folder, "audit.jsonl");
      await writeFile(path, `{"checkpoint":"a.b.c"}\n{"organization":"0123`);
      await using world = await startWorld({ store, env: { HOLT_AUDIT_STREAMS: `file://${path}` } });
      const linesNow = async () => (await readFile(path, "utf8")).split("\n").slice(0, -1);
      const entries = async () => (await linesNow()).filter((line) => line.includes('"number"'));
      assertWithoutGaps(await untilStreamed(world, async () => (await entries()).map(nameOf)));
      const lines = await linesNow();
      assert.equal(lines[0], '{"checkpoint":"a.b.c"}');
      assert.equal(lines.length, (await entries()).length + 1);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test(`a syslog server gets messages of RFC 5424, on ${store}`, async () => {
    let text = "";
    const { server, port } = await listen((socket) => socket.setEncoding("utf8").on("data", (chunk) => (text += chunk)));
    try {
      await using world = await startWorld({ store, env: { HOLT_AUDIT_STREAMS: `syslog+tcp://127.0.0.1:${port}` } });
      const names = await untilStreamed(world, () => messagesIn(text).map((message) => nameOf(message.slice(message.indexOf("{")))));
      assertWithoutGaps(names);
      for (const message of messagesIn(text)) assert.match(message, /^<110>1 \S+ \S+ holtd \d+ audit - \{"organization":.*\}$/);
    } finally {
      server.close();
    }
  });

  test(`retention deletes old entries and keeps the chain intact, on ${store}`, async () => {
    await using world = await startWorld({ store, env: { HOLT_AUDIT_RETENTION: "60s" } });
    const old = await world.group(world.orgUid, "old");
    await sealAll(world);
    world.clock.advance(120_000);
    const young = await world.group(world.orgUid, "young");
    const { listAuditEntries, verifyAuditChain } = AuditService.method;
    const targets = async () => (await world.must(listAuditEntries, { parent: world.orgUid })).entries.map(({ target }) => target);
    await until(async () => {
      const found = await targets();
      return found.includes(young) && !found.includes(old);
    });
    const verdict = await world.must(verifyAuditChain, { parent: world.orgUid });
    assert.equal(verdict.problem, Problem.UNSPECIFIED, verdict.description);
    assert.ok(verdict.last > 1n);
    assert.ok(verdict.verified < verdict.last);
  });
}
