/** Pull tokens with real requests of registry and library clients: rights, revocation, rotation, expiry and limits. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type PullToken, type PullTokenSchema, PullTokensService, PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { announceExpiring, deleteExpired } from "../../src/iam/pull-tokens/expiry.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { type Answer, basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { type Caller, describeWithWorld, type World } from "../harness/world.ts";

const methods = PullTokensService.method;
const DAY_MS = 24 * 3_600_000;
const DAY_SECONDS = 24n * 3600n;
const CREATE = [Capability.CAP_IAM_IDENTITY_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE];
const PULL = [Capability.CAP_MANIFEST_LIST, Capability.CAP_REPO_BLOBS_GET];

type Fields = MessageInitShape<typeof PullTokenSchema>;

function actions(world: World) {
  const create = (parent: string, fields: Fields = {}, caller: Caller = world.owner): Promise<PullToken> =>
    world.must(methods.createPullToken, { parent, pullToken: { name: "test", rights: [Right.IMAGES_PULL], ...fields } }, caller.token);
  const attempt = (parent: string, fields: Fields, caller: Caller) =>
    world.rest.call(methods.createPullToken, { parent, pullToken: { name: "test", rights: [Right.IMAGES_PULL], ...fields } }, caller.token);
  const credentialsOf = ({ userName, password }: PullToken) => basic(userName, password);
  const send = async (authorization: string | undefined, method: string, path: string): Promise<Answer> => {
    using client = createRegistryClient(world.baseUrl, authorization);
    return await client.send(method, path);
  };
  const statusOf = async (token: PullToken, method: string, path: string) => (await send(credentialsOf(token), method, path)).status;
  const push = async (name: string): Promise<void> => {
    using client: RegistryClient = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    await client.image(name, "1");
  };
  /** A registry token, as docker gets it with the user name and password. */
  const registryToken = async (token: PullToken, scope: string): Promise<string> => {
    const { status, json } = await send(credentialsOf(token), "GET", `/token?scope=${scope}`);
    assert.equal(status, 200);
    return `Bearer ${(json() as { token: string }).token}`;
  };
  return { create, attempt, credentialsOf, send, statusOf, push, registryToken };
}

describeWithWorld("pull tokens", (world) => {
  it("a pull token pulls with its password and with registry tokens, does not push, and is refused by the API", async () => {
    const { create, credentialsOf, send, statusOf, push, registryToken } = actions(world);
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
    const { create } = actions(world);
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
    const { create, credentialsOf } = actions(world);
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
    const { create, statusOf } = actions(world);
    const token = await create(world.orgUid, { rights: [Right.PYTHON_PULL] });
    assert.equal(await statusOf(token, "GET", "/libraries/python/my-org/simple/"), 200);
    assert.equal(await statusOf(token, "GET", "/libraries/java/my-org/a/b/maven-metadata.xml"), 404);
    const other = await create(world.orgUid, { rights: [Right.JAVA_PUSH] });
    assert.equal(await statusOf(other, "GET", "/libraries/python/my-org/simple/"), 404);
  });

  it("a revoked pull token is refused at the next request, together with its registry tokens", async () => {
    const { create, send, statusOf, push, registryToken } = actions(world);
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

  it("a pull token loses the rights that its creator loses, and gets them back with it", async () => {
    const { create, statusOf, push } = actions(world);
    const [team, other] = [await world.group(world.orgUid, "bound-team"), await world.group(world.orgUid, "bound-other")];
    await push("my-org/bound-team/app");
    await push("my-org/bound-other/app");
    const creator = await world.robot(world.orgUid);
    const role = await world.role(world.orgUid, [...CREATE, ...PULL]);
    const binding = await world.bind(creator.uid, role, world.orgUid);
    const token = await create(world.orgUid, {}, creator);
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 200);
    // The creator keeps its rights in one team alone, and so does the token.
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 404);
    await world.bind(creator.uid, role, team);
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 200);
    assert.equal(await statusOf(token, "GET", "my-org/bound-other/app/manifests/1"), 404);
    // More rights of the creator add nothing to the token.
    await world.bind(creator.uid, await builtInRole(world, "owner"), world.orgUid);
    assert.notEqual(await statusOf(token, "POST", "my-org/bound-other/app/blobs/uploads/"), 202);
    assert.equal(await statusOf(token, "GET", "/libraries/python/my-org/simple/"), 404);
    await world.raw("DELETE", `/iam/v2/identities/${creator.uid}`);
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 401);
    assert.notEqual(other, team);
  });

  it("a pull token ends with the account of the person who created it, and a new account does not revive it", async () => {
    const { create, statusOf, push } = actions(world);
    await push("my-org/personal");
    const role = await world.role(world.orgUid, [...CREATE, ...PULL]);
    const person = await world.user("leaver");
    await world.bind(person.uid, role, world.orgUid);
    await world.join(person, world.orgUid);
    const token = await create(world.orgUid, {}, person);
    assert.equal(await statusOf(token, "GET", "my-org/personal/manifests/1"), 200);
    await world.must(Auth.method.delete, { id: person.uid }, person.token);
    assert.equal(await statusOf(token, "GET", "my-org/personal/manifests/1"), 401);
    world.clock.advance(1000);
    const again = await world.user("leaver");
    await world.bind(again.uid, role, world.orgUid);
    await world.join(again, world.orgUid);
    assert.equal(await statusOf(token, "GET", "my-org/personal/manifests/1"), 401);
  });

  it("nobody creates a pull token with rights that the caller or its access token lacks", async () => {
    const { attempt } = actions(world);
    const puller = await world.robot(world.orgUid, [...CREATE, ...PULL]);
    assert.equal(codeOf(await attempt(world.orgUid, { rights: [Right.IMAGES_PUSH] }, puller)), Code.PERMISSION_DENIED);
    assert.equal(codeOf(await attempt(world.orgUid, { rights: [Right.PYTHON_PULL] }, puller)), Code.PERMISSION_DENIED);
    const narrowed = await world.narrow(puller, { cap: ["identity.create", "role_bindings.create"] });
    assert.equal(codeOf(await attempt(world.orgUid, {}, narrowed)), Code.PERMISSION_DENIED);
    const reader = await world.robot(world.orgUid, PULL);
    assert.equal(codeOf(await attempt(world.orgUid, {}, reader)), Code.PERMISSION_DENIED);
  });

  it("an independent token keeps its rights, and only the organization's managers of identities make one", async () => {
    const { create, attempt, statusOf, push } = actions(world);
    await push("my-org/independent");
    const manager = [...CREATE, ...PULL, Capability.CAP_IAM_IDENTITY_UPDATE, Capability.CAP_IAM_ROLE_BINDINGS_UPDATE];
    const ordinary = await world.robot(world.orgUid, [...CREATE, ...PULL]);
    assert.equal(codeOf(await attempt(world.orgUid, { independent: true }, ordinary)), Code.PERMISSION_DENIED);
    const team = await world.group(world.orgUid, "team");
    const ofTeam = await world.robot(team, manager);
    assert.equal(codeOf(await attempt(team, { independent: true }, ofTeam)), Code.PERMISSION_DENIED);
    const creator = await world.robot(world.orgUid, manager);
    const token = await create(world.orgUid, { independent: true }, creator);
    await world.raw("DELETE", `/iam/v2/identities/${creator.uid}`);
    assert.equal(await statusOf(token, "GET", "my-org/independent/manifests/1"), 200);
  });

  it("a creator who has lost all rights at the group neither sees nor revokes the token", async () => {
    const { create } = actions(world);
    const creator = await world.robot(world.orgUid);
    const binding = await world.bind(creator.uid, await world.role(world.orgUid, [...CREATE, ...PULL]), world.orgUid);
    const token = await create(world.orgUid, {}, creator);
    await world.must(methods.getPullToken, { uid: token.uid }, creator.token);
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    for (const method of [methods.getPullToken, methods.rotatePullToken, methods.deletePullToken])
      assert.equal(codeOf(await world.rest.call(method, { uid: token.uid }, creator.token)), Code.PERMISSION_DENIED, method.name);
    assert.deepEqual((await world.must(methods.listPullTokens, {}, creator.token)).pullTokens, []);
  });

  it("the creator of an independent token sees it, and revokes it only with identity.delete", async () => {
    const { create } = actions(world);
    const manager = [...CREATE, ...PULL, Capability.CAP_IAM_IDENTITY_UPDATE, Capability.CAP_IAM_ROLE_BINDINGS_UPDATE];
    const creator = await world.robot(world.orgUid, manager);
    const token = await create(world.orgUid, { independent: true }, creator);
    await world.must(methods.getPullToken, { uid: token.uid }, creator.token);
    const revoke = () => world.rest.call(methods.deletePullToken, { uid: token.uid }, creator.token);
    assert.equal(codeOf(await revoke()), Code.PERMISSION_DENIED);
    await world.bind(creator.uid, await world.role(world.orgUid, [Capability.CAP_IAM_IDENTITY_DELETE]), world.orgUid);
    assert.equal(codeOf(await revoke()), 0);
  });

  it("a rotation hands out no capability that the caller lacks", async () => {
    const { create } = actions(world);
    const { CAP_IAM_IDENTITY_UPDATE, CAP_IAM_ROLE_BINDINGS_UPDATE, CAP_REPO_LIST } = Capability;
    const manager = [...CREATE, ...PULL, CAP_IAM_IDENTITY_UPDATE, CAP_IAM_ROLE_BINDINGS_UPDATE];
    const rotate = ({ uid }: PullToken, { token }: Caller) => world.rest.call(methods.rotatePullToken, { uid }, token);
    // The role of the owner contains repo.list, which a token to pull images has if its creator has it.
    const ofOwner = await create(world.orgUid);
    const other = await world.robot(world.orgUid, manager);
    const refused = errorOf(await rotate(ofOwner, other));
    assert.equal(refused.code, Code.PERMISSION_DENIED);
    assert.match(refused.message, /repo\.list/);
    assert.equal(codeOf(await rotate(await create(world.orgUid, {}, await world.robot(world.orgUid, manager)), other)), 0);
    // An independent token keeps capabilities that its creator has lost.
    const creator = await world.robot(world.orgUid, manager);
    const binding = await world.bind(creator.uid, await world.role(world.orgUid, [CAP_REPO_LIST]), world.orgUid);
    const independent = await create(world.orgUid, { independent: true }, creator);
    assert.equal(codeOf(await rotate(independent, creator)), 0);
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    assert.equal(codeOf(await rotate(independent, creator)), Code.PERMISSION_DENIED);
  });

  it("an adopted token depends on the adopter, who needs its rights", async () => {
    const { create, statusOf, push } = actions(world);
    await push("my-org/adopted");
    const creator = await world.robot(world.orgUid, [...CREATE, ...PULL]);
    const token = await create(world.orgUid, {}, creator);
    const powerless = await world.robot(world.orgUid, [Capability.CAP_IAM_IDENTITY_UPDATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE]);
    assert.equal(codeOf(await world.rest.call(methods.adoptPullToken, { uid: token.uid }, powerless.token)), Code.PERMISSION_DENIED);
    const adopted = await world.must(methods.adoptPullToken, { uid: token.uid });
    assert.deepEqual([adopted.creator, adopted.password, adopted.independent], [world.owner.uid, "", false]);
    await world.raw("DELETE", `/iam/v2/identities/${creator.uid}`);
    assert.equal(await statusOf(token, "GET", "my-org/adopted/manifests/1"), 200);
  });

  it("the roles for creators of pull tokens create tokens of their kind, see and revoke their own, and no others", async () => {
    const { create, attempt, statusOf, push } = actions(world);
    await push("my-org/created");
    const others = await create(world.orgUid);
    for (const [role, right, foreign] of [
      ["registry.pull_token_creator", Right.IMAGES_PULL, Right.PYTHON_PULL],
      ["libraries.python.pull_token_creator", Right.PYTHON_PULL, Right.JAVA_PULL],
      ["libraries.java.pull_token_creator", Right.JAVA_PULL, Right.IMAGES_PULL],
    ] as const) {
      const creator = await world.robot(world.orgUid);
      await world.bind(creator.uid, await builtInRole(world, role), world.orgUid);
      const token = await create(world.orgUid, { rights: [right] }, creator);
      assert.equal(await statusOf(token, "GET", "my-org/created/manifests/1"), right === Right.IMAGES_PULL ? 200 : 403);
      for (const refused of [foreign, Right.IMAGES_PUSH])
        assert.equal(codeOf(await attempt(world.orgUid, { rights: [refused] }, creator)), Code.PERMISSION_DENIED, role);
      const listed = await world.must(methods.listPullTokens, {}, creator.token);
      assert.deepEqual(
        listed.pullTokens.map(({ uid }) => uid),
        [token.uid],
      );
      assert.equal(listed.totalCount, 1n);
      if (role === "registry.pull_token_creator") {
        // A narrowed access token does not act as the creator.
        const narrowed = await world.narrow(creator, { cap: ["groups.list"] });
        assert.deepEqual((await world.must(methods.listPullTokens, {}, narrowed.token)).pullTokens, []);
        for (const method of [methods.getPullToken, methods.rotatePullToken, methods.deletePullToken])
          assert.equal(codeOf(await world.rest.call(method, { uid: token.uid }, narrowed.token)), Code.PERMISSION_DENIED);
      }
      for (const method of [methods.getPullToken, methods.rotatePullToken, methods.deletePullToken])
        assert.equal(codeOf(await world.rest.call(method, { uid: others.uid }, creator.token)), Code.PERMISSION_DENIED);
      const rotated = await world.must(methods.rotatePullToken, { uid: token.uid }, creator.token);
      assert.notEqual(rotated.password, token.password);
      await world.must(methods.deletePullToken, { uid: token.uid }, creator.token);
      assert.equal(await statusOf(rotated, "GET", "my-org/created/manifests/1"), 401);
    }
  });

  it("a role for creators of pull tokens counts at its group and below, and for single repositories there", async () => {
    const { create, attempt, statusOf, push } = actions(world);
    const group = await world.group(world.orgUid, "creators");
    const inner = await world.group(group, "inner");
    for (const name of ["web", "api", "inner/web"]) await push(`my-org/creators/${name}`);
    const creator = await world.robot(group);
    await world.bind(creator.uid, await builtInRole(world, "registry.pull_token_creator"), group);
    const statuses = async (token: PullToken) =>
      Promise.all(["web", "api", "inner/web"].map((name) => statusOf(token, "GET", `my-org/creators/${name}/manifests/1`)));
    assert.deepEqual(await statuses(await create(group, {}, creator)), [200, 200, 200]);
    assert.deepEqual(await statuses(await create(inner, {}, creator)), [404, 404, 200]);
    assert.deepEqual(await statuses(await create(group, { repositories: ["web"] }, creator)), [200, 404, 404]);
    assert.deepEqual(await statuses(await create(group, { repositories: ["*/web"] }, creator)), [404, 404, 200]);
    assert.deepEqual(await statuses(await create(inner, { repositories: ["web"] }, creator)), [404, 404, 200]);
    assert.equal(codeOf(await attempt(world.orgUid, { repositories: ["creators/web"] }, creator)), Code.PERMISSION_DENIED);
    assert.equal(codeOf(await attempt(group, { independent: true }, creator)), Code.PERMISSION_DENIED);
  });

  it("a token for some repositories reaches these, creates these, and learns of no others", async () => {
    const { create, credentialsOf, send, push } = actions(world);
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
    const { create, credentialsOf, send, push } = actions(world);
    await push("my-org/by-uid");
    const repo = await world.store.reader.selectFrom("repo").select("uid").where("name", "=", "by-uid").executeTakeFirstOrThrow();
    const segment = repo.uid.slice(repo.uid.lastIndexOf("/") + 1);
    const token = await create(world.orgUid, { repositories: [segment, "other"] });
    for (const name of [`my-org/${segment}`, `${world.orgUid}/${segment}`, "my-org/by-uid"])
      assert.equal((await send(credentialsOf(token), "GET", `${name}/manifests/1`)).status, 404, name);
  });

  it("both passwords work during the overlap of a rotation, and the old one ends with it", async () => {
    const { create, send, statusOf, push, registryToken } = actions(world);
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
    const { create, send, statusOf, push, registryToken } = actions(world);
    await push("my-org/expired");
    const token = await create(world.orgUid, { ttl: { seconds: 600n } });
    const bearer = await registryToken(token, "repository:my-org/expired:pull");
    world.clock.advance(600_000);
    assert.equal(await statusOf(token, "GET", "my-org/expired/manifests/1"), 401);
    assert.equal((await send(bearer, "GET", "my-org/expired/manifests/1")).status, 401);
    for (const ttl of [{ seconds: 0n }, { seconds: 365n * DAY_SECONDS + 1n }])
      assert.equal(codeOf(await actions(world).attempt(world.orgUid, { ttl }, world.owner)), Code.INVALID_ARGUMENT);
  });

  it("the expiry of a token is announced once, 14 days ahead, and the token is deleted 30 days after it", async () => {
    const { create } = actions(world);
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
    const { create, statusOf, push } = actions(world);
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
    const { create, send, statusOf, push } = actions(world);
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
    const { attempt } = actions(world);
    for (const [fields, field] of [
      [{ name: "" }, "name"],
      [{ rights: [] }, "rights"],
      [{ rights: [99] }, "rights"],
      [{ rights: [Right.PYTHON_PULL], repositories: ["a"] }, "repositories"],
      [{ repositories: ["/a"] }, "repositories[0]"],
      [{ repositories: ["ok", "a/**/b"] }, "repositories[1]"],
      [{ repositories: Array.from({ length: 51 }, (_, index) => `r${index}`) }, "repositories"],
    ] as const) {
      const { code, message } = errorOf(await attempt(world.orgUid, fields as Fields, world.owner));
      assert.equal(code, Code.INVALID_ARGUMENT);
      assert.ok(message.includes(field.replace(/\[.*/, "")), `${field}: ${message}`);
    }
  });

  it("a group with pull tokens is not deleted", async () => {
    const { create } = actions(world);
    const group = await world.group(world.orgUid, "with tokens");
    const token = await create(group);
    const refused = await world.raw("DELETE", `/iam/v2/groups/${group}`);
    assert.equal(refused.status, 400);
    assert.match(refused.text, /pull tokens/);
    await world.must(methods.deletePullToken, { uid: token.uid });
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${group}`)).status, 200);
  });
});
