/** Lists, exports and verifies the audit log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toBinary } from "@bufbuild/protobuf";
import { AuditService, ListAuditEntriesResponseSchema } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { appendAudit } from "../../src/audit/append.ts";
import { payloadOf } from "../../src/auditing/chain/checkpoint.ts";
import { verifyChain } from "../../src/auditing/chain/read-chain.ts";
import { indexBlocks } from "../../src/auditing/chain/segment-index.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import type { ReadDb } from "../../src/db/store.ts";
import { timestampFromText } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";
import { appendLargeEntries, listWhen, sealAll } from "./audit-log.ts";

const { listAuditEntries, exportAuditEntries, verifyAuditChain } = AuditService.method;
const { createGroup, updateGroup, getGroup } = GroupsService.method;

describeWithWorld("the audit log", (world) => {
  test("filters select entries by time, action prefix, target and place", async () => {
    world.clock.advance(900_000);
    const since = { seconds: BigInt(Math.floor(world.clock.now().getTime() / 1000)), nanos: 0 };
    const outer = await world.group(world.orgUid, "outer");
    const inner = await world.group(outer, "inner");
    const uids = async (request: object, size: number) =>
      (await listWhen(world, { parent: world.orgUid, ...request }, ({ length }) => length >= size)).map(({ target }) => target);
    assert.deepEqual(await uids({ since }, 2), [inner, outer]);
    assert.deepEqual(await uids({ since, orderBy: "number" }, 2), [outer, inner]);
    assert.deepEqual(await uids({ since, action: "platform.iam.v2.Groups*" }, 2), [inner, outer]);
    assert.deepEqual(await uids({ since, action: "platform.registry.*" }, 0), []);
    assert.deepEqual(await uids({ target: outer }, 1), [outer]);
    assert.deepEqual(await uids({ parent: outer, since }, 2), [inner, outer]);
    assert.deepEqual(await uids({ parent: inner, since }, 1), [inner]);
    assert.deepEqual(await uids({ since, actor: world.owner.uid, outcome: "OK", remoteAddress: "127.0.0.1" }, 2), [inner, outer]);
    const { entries } = await world.must(listAuditEntries, { parent: world.orgUid, until: since });
    assert.equal(
      entries.some(({ target }) => target === outer || target === inner),
      false,
    );
  });

  test("pages continue where the last one ended, in both orders, and their tokens are bound to the filters", async () => {
    const parent = await world.group(world.orgUid, "pages");
    for (let i = 0; i < 7; i++) await world.group(parent, `page-${i}`);
    await listWhen(world, { parent }, ({ length }) => length === 8);
    for (const orderBy of ["number", "number desc"]) {
      const numbers: bigint[] = [];
      for (let pageToken = ""; ; ) {
        const page = await world.must(listAuditEntries, { parent, orderBy, pageSize: 3, pageToken });
        numbers.push(...page.entries.map(({ number }) => number));
        pageToken = page.nextPageToken;
        if (pageToken === "") break;
        const other = { parent: world.orgUid, orderBy, pageSize: 3, pageToken };
        assert.equal(codeOf(await world.rest.call(listAuditEntries, other, world.owner.token)), Code.INVALID_ARGUMENT);
      }
      assert.equal(new Set(numbers).size, 8);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => Number(orderBy === "number" ? a - b : b - a)),
      );
    }
  });

  test("pages of large entries end by their bytes, in lists and exports, and have every entry once", async () => {
    const parent = world.orgUid;
    await appendLargeEntries(world, 50);
    await sealAll(world);
    const sizes: number[] = [];
    const listed: bigint[] = [];
    for (let pageToken = "", isFirst = true; isFirst || pageToken !== ""; isFirst = false) {
      const page = await world.must(listAuditEntries, { parent, action: "large", pageSize: 200, pageToken });
      sizes.push(toBinary(ListAuditEntriesResponseSchema, page).length);
      listed.push(...page.entries.map(({ number }) => number));
      pageToken = page.nextPageToken;
    }
    const exported: bigint[] = [];
    for (let after = 0n, hasMore = true; hasMore; ) {
      const page = await world.must(exportAuditEntries, { parent, after });
      sizes.push(page.lines.length);
      const lines = page.lines.split("\n").filter((line) => line.includes('"large"'));
      exported.push(...lines.map((line) => BigInt((JSON.parse(line) as { number: number }).number)));
      [after, hasMore] = [page.last, page.hasMore];
    }
    assert.equal(new Set(listed).size, 50);
    assert.deepEqual(exported, listed.toReversed());
    assert.ok(Math.max(...sizes) < 1.5 * 1024 * 1024, `a page has ${Math.max(...sizes)} bytes`);
  });

  test("the last time that a request can name is after all entries, and the largest number too", async () => {
    await world.group(world.orgUid, "before-the-end");
    await sealAll(world);
    await world.group(world.orgUid, "before-the-end-2");
    await sealAll(world);
    const { entries } = await world.must(listAuditEntries, { parent: world.orgUid });
    const until = timestampFromText("9999-12-31T23:59:59.000Z");
    assert.deepEqual((await world.must(listAuditEntries, { parent: world.orgUid, until })).entries, entries);
    const after = 2n ** 63n - 1n;
    const { lines, last, hasMore } = await world.must(exportAuditEntries, { parent: world.orgUid, after });
    assert.deepEqual([lines.includes('"hash"'), last, hasMore], [false, after, false]);
  });

  test("a chain gets checkpoints again after a clock that was far ahead was corrected, and the newest one is exported", async () => {
    const AHEAD_MS = 48 * 3_600_000;
    const grow = async () => {
      await appendLargeEntries(world, 1);
      await sealAll(world);
      const chains = world.store.reader.selectFrom("audit_chain").where("org_uid", "=", world.orgUid);
      await until(async () => {
        const { number, checkpoint_number } = await chains.select(["number", "checkpoint_number"]).executeTakeFirstOrThrow();
        return Number(number) === Number(checkpoint_number);
      });
      return Number((await chains.select("number").executeTakeFirstOrThrow()).number);
    };
    world.clock.advance(AHEAD_MS);
    const before = await grow();
    world.clock.advance(-AHEAD_MS);
    const number = await grow();
    const { lines } = await world.must(exportAuditEntries, { parent: world.orgUid, after: BigInt(before) });
    const { checkpoint } = JSON.parse(lines.trim().split("\n").at(-1) ?? "") as { checkpoint: string };
    assert.equal(payloadOf(checkpoint)?.number, number);
  });

  test("a verification reads the contents of large entries in parts of a bounded size", async () => {
    await appendLargeEntries(world, 50);
    await sealAll(world);
    const { reader, dialect } = world.store;
    const sizes: number[] = [];
    const db: ReadDb = createReadHandle(dialect, async (query) => {
      const answer = await reader.getExecutor().executeQuery(query);
      const contents = (answer.rows as { content?: string }[]).map(({ content = "" }) => content.length);
      sizes.push(contents.reduce((sum, length) => sum + length, 0));
      return answer as never;
    });
    const range = { organization: world.orgUid, after: undefined, maxEntries: 100_000 };
    const { isComplete, problem } = await verifyChain(db, range, async () => undefined);
    assert.deepEqual([isComplete, problem], [true, undefined]);
    assert.ok(Math.max(...sizes) < 1.5 * 1024 * 1024, `a read has ${Math.max(...sizes)} bytes`);
  });

  test("a target is found in every segment of the index and behind the last one, in both orders", async () => {
    const { store } = world;
    const target = await world.group(world.orgUid, "indexed");
    const rename = (name: string) => world.must(updateGroup, { group: { uid: target, name }, updateMask: { paths: ["name"] } });
    for (let i = 0; i < 3; i++) {
      await rename(`indexed-${i}`);
      await sealAll(world);
      while (await indexBlocks(store, 2));
    }
    await rename("indexed-at-last");
    await sealAll(world);
    for (const request of [{ target }, { parent: target }, { target, actor: world.owner.uid, action: "platform.iam.*" }]) {
      const listed = await world.must(listAuditEntries, { parent: world.orgUid, ...request });
      const names = listed.entries.map(({ changes }) => changes[0]?.after?.name);
      assert.deepEqual(names, ["indexed-at-last", "indexed-2", "indexed-1", "indexed-0", "indexed"]);
      const forward = await world.must(listAuditEntries, { parent: world.orgUid, ...request, orderBy: "number" });
      assert.deepEqual(forward.entries, listed.entries.toReversed());
    }
  });

  test("an entry whose transaction commits after later ones is sealed too", async (t) => {
    const { store } = world;
    if (store.dialect.isInProcess) return t.skip("one transaction at a time");
    const facts = { actor: "", target: world.orgUid, organization: world.orgUid, outcome: "OK", now: world.clock.now() };
    const inserted = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const slow = store.transaction(async (db) => {
      await appendAudit(db, { ...facts, action: "slow" });
      inserted.resolve();
      await mayCommit.promise;
    });
    await inserted.promise;
    await world.group(world.orgUid, "overtaking");
    await sealAll(world);
    mayCommit.resolve();
    await slow;
    const [entry] = await listWhen(world, { parent: world.orgUid, action: "slow" }, ({ length }) => length === 1);
    assert.equal(entry?.action, "slow");
    assert.equal((await world.must(verifyAuditChain, { parent: world.orgUid })).description, "");
  });

  test("only holders of audit.list read the log of an organization, and only staff reads that of the server", async () => {
    const blind = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    const auditor = await world.robot(world.orgUid, [Capability.CAP_AUDIT_LIST]);
    for (const method of [listAuditEntries, exportAuditEntries, verifyAuditChain] as const) {
      const call = (parent: string, token: string) => world.rest.call(method, { parent } as never, token);
      assert.equal(codeOf(await call(world.orgUid, blind.token)), Code.PERMISSION_DENIED);
      assert.equal(codeOf(await call(world.orgUid, auditor.token)), 0);
      assert.equal(codeOf(await call("", auditor.token)), Code.PERMISSION_DENIED);
      assert.equal(codeOf(await call("", world.owner.token)), 0);
      assert.equal(codeOf(await call("nonsense", auditor.token)), Code.NOT_FOUND);
    }
  });

  test("the bootstrap owner reads the log of an organization where it is not bound", async () => {
    const founder = await world.user();
    const { uid: parent } = await world.must(createGroup, { group: { name: "foreign" } }, founder.token);
    assert.equal(codeOf(await world.rest.call(getGroup, { uid: parent }, world.owner.token)), Code.PERMISSION_DENIED);
    assert.equal(codeOf(await world.rest.call(listAuditEntries, { parent }, world.owner.token)), 0);
  });

  test("an export has every entry once, and one signed checkpoint at its end", async () => {
    await world.group(world.orgUid, "exported");
    world.clock.advance(120_000);
    await sealAll(world);
    const lines: Record<string, unknown>[] = [];
    for (let after = 0n; ; ) {
      const page = answerOf(await world.rest.call(exportAuditEntries, { parent: world.orgUid, after, pageSize: 10 }, world.owner.token));
      lines.push(
        ...page.lines
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      );
      after = page.last;
      if (!page.hasMore) break;
    }
    const entries = lines.filter((line) => "hash" in line);
    assert.deepEqual(
      entries.map(({ number }) => number),
      entries.map((_, index) => index + 1),
    );
  });
});
