/** Records, lists and exports of the audit log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toBinary } from "@bufbuild/protobuf";
import { AuditService, ListAuditEntriesResponseSchema } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { appendAudit } from "../../src/audit/append.ts";
import { payloadOf } from "../../src/auditing/chain/checkpoint.ts";
import { verifyChain } from "../../src/auditing/chain/read-chain.ts";
import { indexBlocks } from "../../src/auditing/chain/segment-index.ts";
import { rotateKeys } from "../../src/cli/commands.ts";
import { readConfig } from "../../src/config.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import type { ReadDb } from "../../src/db/store.ts";
import { timestampFromText } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";
import { appendLargeEntries, entriesAfter, lastSeq, listWhen, sealAll } from "./audit-log.ts";

const { listAuditEntries, exportAuditEntries, verifyAuditChain } = AuditService.method;
const { createGroup, updateGroup, deleteGroup, getGroup } = GroupsService.method;

describeWithWorld("the audit log", (world) => {
  test("the entry of an update names the changed fields before and after", async () => {
    const uid = await world.group(world.orgUid, "before");
    const headers = { authorization: `Bearer ${world.owner.token}`, cgrequestid: "request-of-the-test" };
    const body = JSON.stringify({ name: "after" });
    const answer = await world.http("PATCH", `/iam/v2/groups/${uid}?updateMask=name`, body, headers);
    assert.equal(answer.status, 200, answer.text);
    const [entry] = await listWhen(world, { parent: uid }, ([first]) => first?.action.endsWith("/UpdateGroup") === true);
    assert.equal(entry?.requestId, "request-of-the-test");
    assert.equal(entry?.actor, world.owner.uid);
    assert.equal(entry?.organization, world.orgUid);
    assert.equal(entry?.protocol, "rest");
    assert.equal(entry?.changes.length, 1);
    const [change] = entry?.changes ?? [];
    assert.equal(change?.resource, "Group");
    assert.equal(change?.before?.name, "before");
    assert.equal(change?.after?.name, "after");
    assert.equal("uid" in (change?.after ?? {}), false);
  });

  test("an update that changes nothing and a change that fails write no entry", async () => {
    const uid = await world.group(world.orgUid, "same");
    const before = await lastSeq(world);
    await world.must(updateGroup, { group: { uid, name: "same" }, updateMask: { paths: ["name"] } });
    assert.equal(
      codeOf(await world.rest.call(createGroup, { parent: uid, group: { name: "" } }, world.owner.token)),
      Code.INVALID_ARGUMENT,
    );
    assert.deepEqual(await entriesAfter(world, before), []);
  });

  test("the entry of a deletion has all fields of the resource", async () => {
    const uid = await world.group(world.orgUid, "deleted");
    await world.must(deleteGroup, { uid });
    const [entry] = await listWhen(
      world,
      { parent: world.orgUid, target: uid },
      ([first]) => first?.action.endsWith("/DeleteGroup") === true,
    );
    assert.equal(entry?.changes.find(({ resource }) => resource === "Group")?.before?.name, "deleted");
  });

  test("the entry of a deleted role binding has its identity and role, alone and with its group or identity", async () => {
    const uid = await world.group(world.orgUid, "bound");
    const role = await world.role(uid, [Capability.CAP_IAM_GROUPS_LIST]);
    const { uid: identity } = await world.robot(uid);
    const deletions = [
      (binding: string) => world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding }),
      () => world.must(IdentitiesService.method.deleteIdentity, { uid: identity }),
    ];
    for (const deletion of deletions) {
      const binding = await world.bind(identity, role, uid);
      const before = await lastSeq(world);
      await deletion(binding);
      const [entry] = await entriesAfter(world, before);
      const change = entry?.details.changes?.find((each) => each.uid === binding);
      assert.deepEqual([change?.resource, change?.before?.identityUid, change?.before?.roleUid], ["RoleBinding", identity, role]);
    }
  });

  test("the entry of a redeemed invite has the new role binding and the invite that is used up", async () => {
    const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    const groupInvite = { roleUid, ttl: { seconds: 3600n, nanos: 0 }, singleUse: true };
    const invite = await world.must(GroupInvitesService.method.createGroupInvite, { parent: world.orgUid, groupInvite });
    const proof = await world.proofOf("invited");
    const before = await lastSeq(world);
    const { identity } = await world.must(Auth.method.register, { code: invite.code }, proof);
    const entries = await entriesAfter(world, before);
    const changes = entries.flatMap(({ details }) => details.changes ?? []);
    assert.equal(changes.find(({ resource }) => resource === "RoleBinding")?.after?.identityUid, identity);
    assert.equal(changes.find(({ resource }) => resource === "GroupInvite")?.before?.uid, invite.uid);
    assert.equal(JSON.stringify(entries).includes(invite.code), false);
  });

  test("an invite for a role that the person has already writes an entry, since the person joins and the invite is used up", async () => {
    const person = await world.user("bound before");
    const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    await world.bind(person.uid, roleUid, world.orgUid);
    const groupInvite = { roleUid, ttl: { seconds: 3600n, nanos: 0 }, singleUse: true };
    const { code } = await world.must(GroupInvitesService.method.createGroupInvite, { parent: world.orgUid, groupInvite });
    const proof = await world.proofOf("bound before");
    const before = await lastSeq(world);
    await world.must(Auth.method.register, { code }, proof);
    const entries = await entriesAfter(world, before);
    assert.deepEqual(
      entries.map(({ action, actor }) => [action, actor]),
      [["platform.auth.v1.Auth/Register", person.uid]],
    );
  });

  test("a login and a registration that give the default role of a provider write an entry with the new binding", async () => {
    await using upstream = await startIssuer({ now: world.clock.now });
    const org = await world.group("", "default-roles");
    const roles = [Capability.CAP_REPO_LIST, Capability.CAP_TAG_LIST, Capability.CAP_IAM_GROUPS_LIST].map((each) =>
      world.role(org, [each]),
    );
    const [first = "", ...others] = await Promise.all(roles);
    const makeProvider = async (clientId: string, defaultRole: string) => {
      const oidc = { issuer: upstream.issuer, clientId, pkceEnabled: true };
      const answer = await world.raw("POST", `/iam/v2/identityProviders/${org}`, { name: clientId, defaultRole, oidc });
      return (JSON.parse(answer.text) as { uid: string }).uid;
    };
    const proof = (aud: string) => upstream.sign({ sub: "ann", aud });
    await makeProvider("first", first);
    const { identity } = await world.must(Auth.method.register, {}, await proof("first"));
    const identityProvider = await makeProvider("second", others[0] ?? "");
    await makeProvider("third", others[1] ?? "");
    const before = await lastSeq(world);
    for (let i = 0; i < 2; i++) await world.must(SecurityTokenService.method.exchange, { identityProvider }, await proof("second"));
    for (let i = 0; i < 2; i++) await world.must(Auth.method.register, {}, await proof("third"));
    const entries = (await entriesAfter(world, before)).filter(({ details }) => details.changes !== undefined);
    assert.deepEqual(
      entries.map(({ action, actor, details }) => [action, actor, details.changes?.map(({ after }) => after?.roleUid)]),
      [
        ["default-role", identity, [others[0]]],
        ["platform.auth.v1.Auth/Register", identity, [others[1]]],
      ],
    );
  });

  test("the entry of a new pull token contains no secret", async () => {
    const pullToken = { name: "ci", rights: [PullToken_Right.IMAGES_PULL] };
    const before = await lastSeq(world);
    const { password } = await world.must(PullTokensService.method.createPullToken, { parent: world.orgUid, pullToken });
    assert.notEqual(password, "");
    const entries = await entriesAfter(world, before);
    assert.equal(entries.length, 1);
    assert.equal(JSON.stringify(entries).includes(password), false);
  });

  test("refusals are recorded with the caller, the reason and the place", async () => {
    const robot = await world.robot(world.orgUid);
    const target = await world.group(world.orgUid, "closed");
    assert.equal(codeOf(await world.grpc.call(getGroup, { uid: target }, robot.token)), Code.PERMISSION_DENIED);
    const [entry] = await listWhen(world, { parent: world.orgUid, refused: true, actor: robot.uid }, ({ length }) => length > 0);
    assert.equal(entry?.outcome, "PERMISSION_DENIED");
    assert.equal(entry?.target, target);
    assert.match(entry?.message ?? "", /groups\.list/);
    assert.equal(entry?.protocol, "grpc");
  });

  test("equal refusals of anonymous callers are counted, and each one is in some entry", async () => {
    for (let i = 0; i < 30; i++) await world.rest.call(getGroup, { uid: world.orgUid }, "garbage");
    const count = (entries: readonly { count: bigint }[]) => entries.reduce((sum, entry) => sum + Number(entry.count || 1n), 0);
    const action = "platform.iam.v2.GroupsService/GetGroup";
    const entries = await listWhen(world, { parent: "", outcome: "UNAUTHENTICATED", action }, (found) => count(found) >= 30);
    assert.equal(count(entries), 30);
  });

  test("issued and refused tokens are recorded", async () => {
    const robot = await world.robot(world.orgUid);
    const action = "platform.oidc.v1.SecurityTokenService/Exchange";
    const [issued] = await listWhen(world, { parent: world.orgUid, action, actor: robot.uid }, ({ length }) => length > 0);
    assert.equal(issued?.outcome, "OK");
    await world.rest.call(SecurityTokenService.method.exchange, { identity: robot.uid }, "garbage");
    const [refused] = await listWhen(world, { parent: "", action, refused: true }, ({ length }) => length > 0);
    assert.equal(refused?.actor, "");
  });

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

  test("commands of the operator are recorded in the chain of the server", async () => {
    const { databaseUrl: HOLT_DATABASE_URL, dataDir: HOLT_DATA_DIR, baseUrl: HOLT_BASE_URL } = world;
    await rotateKeys(readConfig({ HOLT_DATABASE_URL, HOLT_DATA_DIR, HOLT_BASE_URL, HOLT_LISTEN: new URL(HOLT_BASE_URL).host }));
    const [entry] = await listWhen(world, { parent: "", action: "holtd keys rotate" }, ({ length }) => length > 0);
    assert.equal(entry?.actor, "holtd");
    assert.notEqual(entry?.onBehalfOf.user ?? "", "");
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

describeWithWorld(
  "the audit log with HOLT_AUDIT_READS",
  (world) => {
    test("successful reads of the operations that the setting names are recorded, and others are not", async () => {
      await world.must(getGroup, { uid: world.orgUid });
      await world.must(GroupsService.method.listGroups, {});
      const [entry] = await listWhen(
        world,
        { parent: world.orgUid, action: "platform.iam.v2.GroupsService/GetGroup" },
        ({ length }) => length > 0,
      );
      assert.equal(entry?.outcome, "OK");
      assert.equal(entry?.target, world.orgUid);
      const { entries } = await world.must(listAuditEntries, { parent: "", action: "platform.iam.v2.GroupsService/ListGroups" });
      assert.deepEqual(entries, []);
    });
  },
  { env: { HOLT_AUDIT_READS: "platform.iam.v2.GroupsService/Get*" } },
);
