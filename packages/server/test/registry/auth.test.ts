/** Tests rights in the registry: the token flow, passwords, names, and that rights are checked at every use. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { builtInRoles } from "../../src/iam/grants/built-in-roles.ts";
import { basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
let owner: RegistryClient;
const clients: RegistryClient[] = [];
before(async () => {
  world = await startWorld();
  owner = as(`Bearer ${world.token}`);
});
after(async () => {
  for (const client of clients) client[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

function as(authorization: string | undefined): RegistryClient {
  const client = createRegistryClient(world.baseUrl, authorization);
  clients.push(client);
  return client;
}

const roleUid = (name: string) => builtInRoles.find((role) => role.name === name)?.uid ?? "";

async function tokenFor(authorization: string | undefined, ...scopes: string[]): Promise<{ token: string; expires_in: number }> {
  const query = new URLSearchParams([["service", "x"], ["account", "y"], ...scopes.map((scope) => ["scope", scope])] as [string, string][]);
  const answer = await as(authorization).send("GET", `/token?${query}`);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json();
}

function claimsOf(token: string): { aud: unknown; access: unknown; exp: number; iat: number } {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

test("a request without a token is refused with a challenge that names the realm and the scope", async () => {
  const nobody = as(undefined);
  for (const [method, path, scope] of [
    ["GET", "", undefined],
    ["GET", "my-org/hidden/manifests/1", "repository:my-org/hidden:pull"],
    ["POST", "my-org/hidden/blobs/uploads/", "repository:my-org/hidden:pull,push"],
    ["DELETE", "my-org/hidden/manifests/1", "repository:my-org/hidden:pull,delete"],
  ] as const) {
    const { status, headers, code } = await nobody.send(method, path);
    assert.deepEqual([status, code], [401, "UNAUTHORIZED"]);
    const host = new URL(world.baseUrl).host;
    const challenge = `Bearer realm="${world.baseUrl}/token",service="${host}"${scope === undefined ? "" : `,scope="${scope}"`}`;
    assert.equal(headers["www-authenticate"], challenge);
  }
  assert.equal((await nobody.send("GET", "/token?scope=repository:my-org/hidden:pull")).status, 401);
});

test("a Holt token serves as password and bearer token, and a registry token can do no more than it was requested for", async () => {
  await owner.image("my-org/app", "1");
  const password = basic("_token", world.token);
  for (const authorization of [password, `Bearer ${world.token}`]) assert.equal((await as(authorization).send("GET", "")).status, 200);
  const { token, expires_in } = await tokenFor(password, "repository:my-org/app:pull");
  assert.ok(expires_in <= 3600 && expires_in > 3000);
  const claims = claimsOf(token);
  assert.deepEqual(claims.access, [{ type: "repository", name: "my-org/app", actions: ["pull"] }]);
  const puller = as(`Bearer ${token}`);
  assert.equal((await puller.send("GET", "my-org/app/manifests/1")).status, 200);
  for (const [method, path] of [
    ["POST", "my-org/app/blobs/uploads/"],
    ["GET", "my-org/other/manifests/1"],
  ] as const) {
    await owner.image("my-org/other", "1");
    const { status, headers } = await puller.send(method, path);
    assert.equal(status, 401);
    assert.match(String(headers["www-authenticate"]), /error="insufficient_scope"/);
  }
  // Exchanging it again adds no rights, and the API does not accept it.
  const again = await tokenFor(basic("_token", token), "repository:my-org/app:pull,push", "repository:my-org/other:pull");
  assert.deepEqual(claimsOf(again.token).access, claims.access);
  const api = await world.http("GET", "/registry/v2/repos", undefined, { authorization: `Bearer ${token}` });
  assert.equal(api.status, 401);
  const exchanged = await world.http("POST", "/sts/exchange", "{}", {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  });
  assert.notEqual(exchanged.status, 200);
});

test("libraries refuse a registry token, as bearer token and as password", async () => {
  for (const scopes of [["repository:my-org/app:pull"], []]) {
    const { token } = await tokenFor(basic("_token", world.token), ...scopes);
    for (const authorization of [`Bearer ${token}`, basic("_token", token)]) {
      for (const path of ["python/my-org/simple/", "java/my-org/a/b/maven-metadata.xml"]) {
        const { status, body } = await as(authorization).send("GET", `/libraries/${path}`);
        assert.equal(status, 401, path);
        assert.match(body.toString(), /only for the registry/);
      }
    }
  }
  assert.equal((await as(basic("_token", world.token)).send("GET", "/libraries/python/my-org/simple/")).status, 200);
});

test("a wrong password of the token user is answered with what the password must be, and never repeated", async () => {
  const other = world.token.replace(/^[^.]+/, Buffer.from('{"alg":"RS256","kid":"unknown"}').toString("base64url"));
  for (const [password, reason] of [
    ["my secret password", /reason: not a JWT, which has three parts/],
    [other, /reason: signed with an unknown key/],
  ] as const) {
    for (const path of ["", "/token"]) {
      const { status, body } = await as(basic("_token", password)).send("GET", path);
      assert.equal(status, 401);
      assert.match(body.toString(), /the password of the user _token must be a valid access token of this server/);
      assert.match(body.toString(), reason);
      assert.ok(!body.toString().includes(password));
    }
  }
});

test("a password that is none of a pull token's is answered with the ways to log in, whatever the user name", async () => {
  const { status, body } = await as(basic("pull-0123456789abcdef", "my secret password")).send("GET", "/token");
  assert.equal(status, 401);
  assert.match(body.toString(), /wrong user name or password; log in as _token with an access token, as a pull token with its password/);
});

test("the token endpoint accepts the OAuth 2 form with password and refresh token", async () => {
  const post = (form: Record<string, string>) =>
    as(undefined).send("POST", "/token", {
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ service: "x", client_id: "test", scope: "repository:my-org/app:pull", ...form }).toString(),
    });
  for (const form of [
    { grant_type: "password", username: "_token", password: world.token },
    { grant_type: "refresh_token", refresh_token: world.token },
  ]) {
    const answer = await post(form);
    assert.equal(answer.status, 200);
    const { access_token, scope } = answer.json() as { access_token: string; scope: string };
    assert.equal(scope, "repository:my-org/app:pull");
    assert.equal((await as(`Bearer ${access_token}`).send("GET", "my-org/app/tags/list")).status, 200);
  }
  assert.equal((await post({ grant_type: "password", username: "_token", password: "no" })).status, 401);
  assert.equal((await post({ grant_type: "authorization_code" })).status, 400);
});

test("a job with only registry.pull can pull but not push, and revoking its binding stops the next pull", async () => {
  await owner.image("my-org/ci", "1");
  const { uid, token: apiToken } = await world.robot(world.orgUid);
  const binding = await world.must(RoleBindingsService.method.createRoleBinding, {
    parent: world.orgUid,
    roleBinding: { identityUid: uid, roleUid: roleUid("registry.pull") },
  });
  const { token } = await tokenFor(basic("_token", apiToken), "repository:my-org/ci:pull,push");
  assert.deepEqual(claimsOf(token).access, [{ type: "repository", name: "my-org/ci", actions: ["pull"] }]);
  const robot = as(`Bearer ${token}`);
  const { status, body } = await robot.send("GET", "my-org/ci/manifests/1");
  assert.equal(status, 200);
  const { config } = JSON.parse(body.toString()) as { config: { digest: string } };
  const pulls = [`my-org/ci/blobs/${config.digest}`, "my-org/ci/tags/list", `my-org/ci/referrers/${config.digest}`];
  for (const path of pulls) assert.equal((await robot.send("GET", path)).status, 200);
  for (const [method, path] of [
    ["POST", "my-org/ci/blobs/uploads/"],
    ["PUT", "my-org/ci/manifests/2"],
    ["DELETE", "my-org/ci/manifests/1"],
    ["DELETE", `my-org/ci/blobs/${config.digest}`],
    ["POST", "my-org/new/blobs/uploads/"],
  ] as const) {
    const answer = await as(`Bearer ${apiToken}`).send(method, path, { body: "{}" });
    assert.deepEqual([answer.status, answer.code], [403, "DENIED"], `${method} ${path}`);
  }
  await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding.uid });
  for (const path of ["my-org/ci/manifests/1", ...pulls]) {
    const answer = await robot.send("GET", path);
    assert.deepEqual([answer.status, answer.code], [404, "NAME_UNKNOWN"]);
  }
});

test("a caller without a right to repos does not learn from a pull or a push which repos a group has", async () => {
  const team = await world.group(world.orgUid, "packages");
  await owner.image("my-org/packages/existing", "1");
  const { token } = await world.robot(team, [Capability.CAP_LIBRARIES_PYTHON_LIST, Capability.CAP_IAM_GROUPS_LIST]);
  const robot = as(`Bearer ${token}`);
  const digest = `sha256:${"0".repeat(64)}`;
  for (const [method, path] of [
    ["GET", "manifests/1"],
    ["GET", `blobs/${digest}`],
    ["GET", "tags/list"],
    ["GET", `referrers/${digest}`],
    ["POST", "blobs/uploads/"],
    ["PUT", "manifests/2"],
    ["DELETE", "manifests/1"],
  ] as const) {
    const answerFor = async (name: string) => {
      const { status, body } = await robot.send(method, `my-org/packages/${name}/${path}`, { body: "{}" });
      return [status, body.toString().replaceAll(`/${name}`, "/NAME")];
    };
    const refused = await answerFor("existing");
    assert.equal(refused[0], method === "GET" || method === "DELETE" ? 404 : 403, `${method} ${path}`);
    assert.deepEqual(refused, await answerFor("absent"), `${method} ${path}`);
  }
});

test("registry.push permits pushing and creating repos, and a denied push does not reveal what exists", async () => {
  const folder = await world.group(world.orgUid, "team");
  const { uid, token } = await world.robot(folder);
  await world.bind(uid, roleUid("registry.push"), folder);
  const robot = as(`Bearer ${token}`);
  await robot.image("my-org/team/tool", "1");
  const { repos } = await world.must(ReposService.method.listRepos, { uidp: { childrenOf: folder } });
  assert.deepEqual(
    repos.map((repo) => repo.name),
    ["tool"],
  );
  assert.equal((await robot.send("GET", "my-org/team/tool/manifests/1")).status, 200);
  await owner.image("my-org/above", "1");
  const answers = await Promise.all(
    ["my-org/above", "my-org/absent", "elsewhere/absent"].map((name) => robot.send("GET", `${name}/manifests/1`)),
  );
  for (const { status, code } of answers) assert.deepEqual([status, code], [404, "NAME_UNKNOWN"]);
  const pushes = await Promise.all(
    ["my-org/above", "my-org/absent", "elsewhere/absent"].map((name) => robot.send("POST", `${name}/blobs/uploads/`)),
  );
  for (const { status, code } of pushes) assert.deepEqual([status, code], [403, "DENIED"]);
  // Nor does a mount reveal it.
  const { body } = await owner.send("GET", "my-org/above/manifests/1");
  const { layers } = JSON.parse(body.toString()) as { layers: { digest: string }[] };
  const mount = await robot.send("POST", `my-org/team/tool2/blobs/uploads/?mount=${layers[0]?.digest}&from=my-org/above`);
  assert.equal(mount.status, 202);
});

test("a password of _token that is not a token is answered with the kind of password that is needed", async () => {
  for (const path of ["/token", "/v2/"]) {
    const answer = await as(basic("_token", "hunter2")).send("GET", path);
    assert.equal(answer.status, 401);
    assert.match(answer.body.toString(), /the password of the user _token must be a valid access token of this server/);
  }
});

test("a pull token consists of an identity's uid and a JWT of that identity", async () => {
  await owner.image("my-org/pulled", "1");
  const { uid } = await world.robot(world.orgUid);
  await world.bind(uid, roleUid("registry.pull"), world.orgUid);
  const jwt = await world.robotProof();
  const password = basic(uid, jwt);
  const { token } = await tokenFor(password, "repository:my-org/pulled:pull");
  assert.equal((await as(`Bearer ${token}`).send("GET", "my-org/pulled/manifests/1")).status, 200);
  assert.equal((await as(password).send("GET", "my-org/pulled/manifests/1")).status, 200);
  for (const wrong of [
    basic(uid, "no"),
    basic(uid, `${jwt.slice(0, -4)}AAAA`),
    basic("somebody", jwt),
    basic(world.orgUid, jwt),
    "Basic %%%",
    "Digest x",
  ])
    assert.equal((await as(wrong).send("GET", "")).status, 401, wrong.slice(0, 20));
  await world.must(IdentitiesService.method.deleteIdentity, { uid });
  assert.equal((await as(password).send("GET", "my-org/pulled/manifests/1")).status, 401);
  assert.equal((await as(`Bearer ${token}`).send("GET", "my-org/pulled/manifests/1")).status, 401);
});

test("a name resolves to one repo: uids may replace names, and an ambiguous name is refused", async () => {
  const { orgUid } = world;
  const one = await world.group(orgUid, "twin");
  await owner.image("my-org/twin/app", "1");
  const { repos } = await world.must(ReposService.method.listRepos, { uidp: { childrenOf: one } });
  for (const name of [`${orgUid}/twin/app`, `${one}/app`, repos[0]?.uid, `my-org/${one.slice(41)}/app`])
    assert.equal((await owner.send("GET", `${name}/manifests/1`)).status, 200, name);
  const two = await world.group(orgUid, "twin");
  for (const [method, path] of [
    ["GET", "my-org/twin/app/manifests/1"],
    ["POST", "my-org/twin/app/blobs/uploads/"],
  ] as const) {
    const { status, code, body } = await owner.send(method, path);
    assert.deepEqual([status, code], [400, "NAME_INVALID"]);
    assert.match(body.toString(), /use the uid/);
  }
  // A caller who sees only one of them gets that one.
  const robot = await world.robot(two, [
    Capability.CAP_MANIFEST_CREATE,
    Capability.CAP_TAG_CREATE,
    Capability.CAP_REPO_CREATE,
    Capability.CAP_MANIFEST_LIST,
  ]);
  const client = as(`Bearer ${robot.token}`);
  await client.image("my-org/twin/app", "2");
  assert.equal((await client.send("GET", "my-org/twin/app/manifests/2")).status, 200);
  assert.equal((await owner.send("GET", `${two}/app/manifests/2`)).status, 200);
});

test("an invisible organization of the same name does not make a name ambiguous", async () => {
  const user = await world.user();
  await world.must(GroupsService.method.createGroup, { parent: "", group: { name: "my-org" } }, user.token);
  assert.equal((await owner.send("GET", "my-org/app/manifests/1")).status, 200);
  await as(`Bearer ${user.token}`).image("my-org/mine", "1");
  assert.equal((await owner.send("GET", "my-org/mine/manifests/1")).code, "NAME_UNKNOWN");
});

test("a name means the organization that the caller has joined, also where only another of the same name has the repo", async () => {
  const [person, stranger] = [await world.user(), await world.user()];
  const found = ({ token }: { token: string }) =>
    world.must(GroupsService.method.createGroup, { parent: "", group: { name: "namesake" } }, token);
  await found(person);
  await as(`Bearer ${person.token}`).image("namesake/own", "1");
  const { uid: parent } = await found(stranger);
  await as(`Bearer ${stranger.token}`).image("namesake/trap", "1");
  const roleBinding = { identityUid: person.uid, roleUid: roleUid("owner") };
  await world.must(RoleBindingsService.method.createRoleBinding, { parent, roleBinding }, stranger.token);
  const client = as(`Bearer ${person.token}`);
  assert.equal((await client.send("GET", `${parent}/trap/manifests/1`)).status, 200);
  assert.equal((await client.send("GET", "namesake/own/manifests/1")).status, 200);
  assert.equal((await client.send("GET", "namesake/trap/manifests/1")).code, "NAME_UNKNOWN");
});

test("a token that is narrowed to a folder is valid for that folder only", async () => {
  const folder = await world.group(world.orgUid, "narrow");
  await owner.image("my-org/narrow/app", "1");
  const { token } = await world.narrow(world.owner, { scopes: [folder] });
  const client = as(`Bearer ${token}`);
  assert.equal((await client.send("GET", "my-org/narrow/app/manifests/1")).status, 200);
  assert.equal((await client.send("GET", "my-org/app/manifests/1")).status, 404);
  const through = await tokenFor(basic("_token", token), "repository:my-org/narrow/app:pull", "repository:my-org/app:pull");
  assert.deepEqual(claimsOf(through.token).access, [{ type: "repository", name: "my-org/narrow/app", actions: ["pull"] }]);
});
