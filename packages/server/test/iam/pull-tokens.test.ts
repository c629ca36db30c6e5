/** Pull tokens with real requests of registry and library clients: pulls and pushes, revocation, rotation, expiry and limits. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { PullTokensService, PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { announceExpiring, deleteExpired } from "../../src/iam/pull-tokens/expiry.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { type PullTokenFields, pullTokenActions } from "../harness/iam/pull-tokens.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const methods = PullTokensService.method;
const DAY_MS = 24 * 3_600_000;
const DAY_SECONDS = 24n * 3600n;
const CREATE = [Capability.CAP_IAM_IDENTITY_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE];
const PULL = [Capability.CAP_MANIFEST_LIST, Capability.CAP_REPO_BLOBS_GET];

describeWithWorld("pull tokens", (world) => {
  it("a pull token pulls with its password and with registry tokens, does not push, and is refused by the API", async () => {
    const { create, credentialsOf, send, statusOf, push, registryToken } = pullTokenActions(world);
    await push("my-org/app");
    const token = await create(world.orgUid, { name: "cluster-a", ttl: { seconds: 90n * DAY_SECONDS } });
    assert.match(token.password, /^holt_pt_[0-9A-Za-z]{49}$/);
    assert.match(token.userName, /^pull-[0-9a-f]{16}$/);
    assert.equal(await statusOf(token, "GET", "my-org/app/manifests/1"), 200);
    assert.equal((await send(basic(token.uid, token.password), "GET", "my-org/app/manifests/1")).status, 200);
    const bearer = await registryToken(token, "repository:my-org/app:pull,push");
    assert.equal((await send(bearer, "GET", "my-org/app/manifests/1")).status, 200);
    for (const authorization of [bearer, credentialsOf(token)])
      assert.notEqual((await send(authorization, "POST", "my-org/app/blobs/uploads/")).status, 202);
    for (const authorization of [bearer, credentialsOf(token), `Bearer ${token.password}`]) {
      assert.equal((await world.http("GET", "/holt/v1/pullTokens", undefined, { authorization })).status, 401);
      assert.notEqual((await world.http("POST", "/sts/exchange", "{}", { authorization })).status, 200);
    }
    assert.equal((await send(basic("pull-0000000000000000", token.password), "GET", "my-org/app/manifests/1")).status, 401);
  });

  it("the password is stored as a hash, shown once, and absent from events", async () => {
    const { create } = pullTokenActions(world);
    const since = await lastSeq(world);
    const token = await create(world.orgUid);
    const got = await world.must(methods.getPullToken, { uid: token.uid });
    assert.equal(got.password, "");
    const rows = await world.store.reader.selectFrom("pull_token").selectAll().where("uid", "=", token.uid).execute();
    const secrets = await world.store.reader.selectFrom("pull_token_secret").selectAll().where("pull_token_uid", "=", token.uid).execute();
    const events = await eventsAfter(world, since);
    const created = events.find(({ type }) => type.endsWith("api.holt.pull_token.created.v1"));
    assert.equal(created?.subject, token.uid);
    assert.equal(created?.group_uid, world.orgUid);
    for (const stored of [rows, secrets, events]) assert.ok(!JSON.stringify(stored).includes(token.password));
  });

  it("a push token creates repositories as far as its creator may, and publishes nothing else", async () => {
    const { create, credentialsOf } = pullTokenActions(world);
    const pusher = await world.robot(world.orgUid, [
      ...CREATE,
      ...PULL,
      Capability.CAP_MANIFEST_CREATE,
      Capability.CAP_TAG_CREATE,
      Capability.CAP_REPO_CREATE,
    ]);
    const token = await create(world.orgUid, { rights: [Right.IMAGES_PUSH] }, pusher);
    using client = createRegistryClient(world.baseUrl, credentialsOf(token));
    await client.image("my-org/pushed", "1");
    assert.equal((await client.send("DELETE", "my-org/pushed/manifests/1")).status, 403);
    // The creator may not create folders.
    assert.equal((await client.send("POST", "my-org/missing/folder/app/blobs/uploads/")).status, 403);
    assert.equal((await client.send("GET", "/libraries/python/my-org/simple/")).status, 404);
  });

  it("rights to libraries hold for their ecosystem alone", async () => {
    const { create, statusOf } = pullTokenActions(world);
    const token = await create(world.orgUid, { rights: [Right.PYTHON_PULL] });
    assert.equal(await statusOf(token, "GET", "/libraries/python/my-org/simple/"), 200);
    assert.equal(await statusOf(token, "GET", "/libraries/java/my-org/a/b/maven-metadata.xml"), 404);
    const other = await create(world.orgUid, { rights: [Right.JAVA_PUSH] });
    assert.equal(await statusOf(other, "GET", "/libraries/python/my-org/simple/"), 404);
  });

  it("a revoked pull token is refused at the next request, together with its registry tokens", async () => {
    const { create, send, statusOf, push, registryToken } = pullTokenActions(world);
    await push("my-org/revoked");
    const token = await create(world.orgUid);
    const bearer = await registryToken(token, "repository:my-org/revoked:pull");
    assert.equal((await send(bearer, "GET", "my-org/revoked/manifests/1")).status, 200);
    await world.must(methods.deletePullToken, { uid: token.uid });
    assert.equal((await send(bearer, "GET", "my-org/revoked/manifests/1")).status, 401);
    assert.equal(await statusOf(token, "GET", "my-org/revoked/manifests/1"), 401);
    const left = await world.store.reader.selectFrom("pull_token_secret").select("id").where("pull_token_uid", "=", token.uid).execute();
    assert.deepEqual(left, []);
  });

  it("a token for some repositories reaches these, creates these, and learns of no others", async () => {
    const { create, credentialsOf, send, push } = pullTokenActions(world);
    const shop = await world.group(world.orgUid, "shop");
    await world.group(shop, "inner");
    for (const name of ["api", "api-old", "web", "inner/deep"]) await push(`my-org/shop/${name}`);
    const token = await create(world.orgUid, { rights: [Right.IMAGES_PUSH], repositories: ["shop/api*", "shop/inner/**", "new"] });
    const credentials = credentialsOf(token);
    const statusOf = async (name: string) => (await send(credentials, "GET", `${name}/manifests/1`)).status;
    for (const name of ["my-org/shop/api", "my-org/shop/api-old", "my-org/shop/inner/deep"]) assert.equal(await statusOf(name), 200);
    const [hidden, missing] = [
      await send(credentials, "GET", "my-org/shop/web/manifests/1"),
      await send(credentials, "GET", "my-org/shop/none/manifests/1"),
    ];
    assert.deepEqual([hidden.status, hidden.body.toString().replace("web", "none")], [404, missing.body.toString()]);
    const catalog = await send(credentials, "GET", "_catalog");
    assert.deepEqual((catalog.json() as { repositories: string[] }).repositories, [
      "my-org/shop/api",
      "my-org/shop/api-old",
      "my-org/shop/inner/deep",
    ]);
    using client = createRegistryClient(world.baseUrl, credentials);
    await client.image("my-org/new", "1");
    assert.equal((await client.send("POST", "my-org/shop/web/blobs/uploads/")).status, 403);
    assert.equal((await client.send("POST", "my-org/else/blobs/uploads/")).status, 403);
    const { json } = await send(
      credentials,
      "GET",
      "/token?scope=repository:my-org/shop/web:pull,push&scope=repository:my-org/shop/api:pull",
    );
    const claims = JSON.parse(Buffer.from((json() as { token: string }).token.split(".")[1] ?? "", "base64url").toString());
    assert.deepEqual(claims.access, [{ type: "repository", name: "my-org/shop/api", actions: ["pull"] }]);
  });

  it("a name in the form of a uid does not lead around the patterns", async () => {
    const { create, credentialsOf, send, push } = pullTokenActions(world);
    await push("my-org/by-uid");
    const repo = await world.store.reader.selectFrom("repo").select("uid").where("name", "=", "by-uid").executeTakeFirstOrThrow();
    const segment = repo.uid.slice(repo.uid.lastIndexOf("/") + 1);
    const token = await create(world.orgUid, { repositories: [segment, "other"] });
    for (const name of [`my-org/${segment}`, `${world.orgUid}/${segment}`, "my-org/by-uid"])
      assert.equal((await send(credentialsOf(token), "GET", `${name}/manifests/1`)).status, 404, name);
  });

  it("both passwords work during the overlap of a rotation, and the old one ends with it", async () => {
    const { create, send, statusOf, push, registryToken } = pullTokenActions(world);
    await push("my-org/rotated");
    const path = "my-org/rotated/manifests/1";
    const first = await create(world.orgUid, { ttl: { seconds: 10n * DAY_SECONDS } });
    const second = await world.must(methods.rotatePullToken, { uid: first.uid, overlap: { seconds: 60n } });
    assert.deepEqual([await statusOf(first, "GET", path), await statusOf(second, "GET", path)], [200, 200]);
    world.clock.advance(60_000);
    assert.deepEqual([await statusOf(first, "GET", path), await statusOf(second, "GET", path)], [401, 200]);
    const third = await world.must(methods.rotatePullToken, { uid: first.uid });
    const bearer = await registryToken(second, "repository:my-org/rotated:pull");
    assert.equal((await send(bearer, "GET", path)).status, 200);
    // A leaked password is replaced without an overlap.
    const fourth = await world.must(methods.rotatePullToken, { uid: first.uid, overlap: { seconds: 0n } });
    assert.equal((await send(bearer, "GET", path)).status, 401);
    const statuses = await Promise.all([first, second, third, fourth].map((token) => statusOf(token, "GET", path)));
    assert.deepEqual(statuses, [401, 401, 401, 200]);
    assert.equal(Number(fourth.expireTime?.seconds) - Number(fourth.rotateTime?.seconds), 10 * 86_400);
  });

  it("an expired password is refused, and its registry tokens expire with it", async () => {
    const { create, send, statusOf, push, registryToken } = pullTokenActions(world);
    await push("my-org/expired");
    const token = await create(world.orgUid, { ttl: { seconds: 600n } });
    const bearer = await registryToken(token, "repository:my-org/expired:pull");
    world.clock.advance(600_000);
    assert.equal(await statusOf(token, "GET", "my-org/expired/manifests/1"), 401);
    assert.equal((await send(bearer, "GET", "my-org/expired/manifests/1")).status, 401);
    for (const ttl of [{ seconds: 0n }, { seconds: 365n * DAY_SECONDS + 1n }])
      assert.equal(codeOf(await pullTokenActions(world).attempt(world.orgUid, { ttl }, world.owner)), Code.INVALID_ARGUMENT);
  });

  it("the expiry of a token is announced once, 14 days ahead, and the token is deleted 30 days after it", async () => {
    const { create } = pullTokenActions(world);
    const [long, short] = [
      await create(world.orgUid, { ttl: { seconds: 20n * DAY_SECONDS } }),
      await create(world.orgUid, { ttl: { seconds: 10n * DAY_SECONDS } }),
    ];
    const names = { profile: { eventPrefix: "dev.holt" }, baseUrl: world.baseUrl, subjects: {}, onAppend() {} } as never;
    const announceAt = async (days: number): Promise<string[]> => {
      const since = await lastSeq(world);
      const now = new Date(world.clock.now().getTime() + days * DAY_MS);
      // Two servers look at the same time.
      await Promise.all([1, 2].map(() => world.store.transaction((db) => announceExpiring(db, now, names))));
      const events = await eventsAfter(world, since);
      assert.ok(!JSON.stringify(events).includes("password"));
      return events.filter(({ type }) => type === "dev.holt.api.holt.pull_token.expiring.v1").map(({ subject }) => subject);
    };
    const announced = async (days: number) => (await announceAt(days)).filter((uid) => [long.uid, short.uid].includes(uid));
    assert.deepEqual(await announced(5), []);
    assert.deepEqual(await announced(6), [long.uid]);
    assert.deepEqual(await announced(7), []);
    const exists = async () => codeOf(await world.rest.call(methods.getPullToken, { uid: long.uid }, world.token)) === 0;
    const sweepAt = (days: number) =>
      world.store.transaction((db) => deleteExpired(db, new Date(world.clock.now().getTime() + days * DAY_MS)));
    await sweepAt(49);
    assert.equal(await exists(), true);
    const before = await world.must(methods.listPullTokens, {});
    await sweepAt(51);
    assert.equal(await exists(), false);
    const after = await world.must(methods.listPullTokens, {});
    assert.equal(after.totalCount, BigInt(after.pullTokens.length));
    assert.ok(Number(after.totalCount) < Number(before.totalCount));
  });

  it("the last use of a token is recorded with its address, at most every ten minutes", async () => {
    const { create, statusOf, push } = pullTokenActions(world);
    await push("my-org/used");
    const token = await create(world.orgUid);
    assert.equal(token.lastUseTime, undefined);
    const read = () => world.must(methods.getPullToken, { uid: token.uid });
    const use = () => statusOf(token, "GET", "my-org/used/manifests/1");
    await use();
    await until(async () => (await read()).lastUseTime !== undefined);
    const first = await read();
    assert.equal(first.lastUseAddress, "127.0.0.1");
    world.clock.advance(60_000);
    await use();
    world.clock.advance(10 * 60_000);
    await use();
    await until(async () => (await read()).lastUseTime?.seconds !== first.lastUseTime?.seconds);
    const listed = await world.must(methods.listPullTokens, { uidp: { ids: [token.uid] } });
    assert.equal(Number(listed.pullTokens[0]?.lastUseTime?.seconds) - Number(first.lastUseTime?.seconds), 660);
  });

  it("wrong passwords are limited per address and user name, and do not lock out tokens in use", async () => {
    const { create, send, statusOf, push } = pullTokenActions(world);
    await push("my-org/guessed");
    const path = "my-org/guessed/manifests/1";
    const [used, fresh] = [await create(world.orgUid), await create(world.orgUid)];
    assert.equal(await statusOf(used, "GET", path), 200);
    const guess = async (user: string) => (await send(basic(user, `holt_pt_${"0".repeat(49)}`), "GET", path)).status;
    for (let count = 0; count < 20; count++) assert.equal(await guess(used.userName), 401);
    assert.equal(await guess(used.userName), 429);
    assert.equal((await send(basic(used.userName, `holt_pt_${"0".repeat(49)}`), "GET", "/token")).status, 429);
    assert.equal(await statusOf(used, "GET", path), 200);
    assert.equal(await statusOf(fresh, "GET", path), 200);
    const another = await create(world.orgUid);
    for (let count = 0; count < 180; count++) assert.equal(await guess(`pull-${count}`), 401);
    assert.equal(await statusOf(another, "GET", path), 429);
    world.clock.advance(60_000);
    assert.equal(await statusOf(another, "GET", path), 200);
  });

  it("a token that is not well-formed is refused with every violation", async () => {
    const { attempt } = pullTokenActions(world);
    for (const [fields, field] of [
      [{ name: "" }, "name"],
      [{ rights: [] }, "rights"],
      [{ rights: [99] }, "rights"],
      [{ rights: [Right.PYTHON_PULL], repositories: ["a"] }, "repositories"],
      [{ repositories: ["/a"] }, "repositories[0]"],
      [{ repositories: ["ok", "a/**/b"] }, "repositories[1]"],
      [{ repositories: Array.from({ length: 51 }, (_, index) => `r${index}`) }, "repositories"],
    ] as const) {
      const { code, message } = errorOf(await attempt(world.orgUid, fields as PullTokenFields, world.owner));
      assert.equal(code, Code.INVALID_ARGUMENT);
      assert.ok(message.includes(field.replace(/\[.*/, "")), `${field}: ${message}`);
    }
  });

  it("a group with pull tokens is not deleted", async () => {
    const { create } = pullTokenActions(world);
    const group = await world.group(world.orgUid, "with tokens");
    const token = await create(group);
    const refused = await world.raw("DELETE", `/iam/v2/groups/${group}`);
    assert.equal(refused.status, 400);
    assert.match(refused.text, /pull tokens/);
    await world.must(methods.deletePullToken, { uid: token.uid });
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${group}`)).status, 200);
  });
});
