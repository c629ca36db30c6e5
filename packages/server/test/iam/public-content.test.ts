/** Public content with plain requests of registry and library clients: anonymous reads, and what they do not reveal. */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { PublicContent_Kind as Kind, PublicContentService } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { ANONYMOUS_UID } from "../../src/access/principal.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { freePort } from "../harness/free-port.ts";
import { startServer } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { attestationOf } from "../harness/libraries/attestations.ts";
import { createMavenClient, folderOf } from "../harness/libraries/maven-client.ts";
import { sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { type Answer, basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { type Caller, describeWithWorld, startWorld, type World } from "../harness/world.ts";

const methods = PublicContentService.method;
const EMPTY_LOGIN = basic("", "");
let teams = 0;

function actions(world: World) {
  const clients: RegistryClient[] = [];
  after(() => {
    for (const client of clients) client[Symbol.dispose]();
  });
  const as = (authorization?: string): RegistryClient => {
    const client = createRegistryClient(world.baseUrl, authorization);
    clients.push(client);
    return client;
  };
  const owner = () => as(`Bearer ${world.token}`);
  const publish = (parent: string, kinds: Kind[] = [Kind.IMAGES], caller: Caller = world.owner) =>
    world.must(methods.createPublicContent, { parent, publicContent: { kinds } }, caller.token);
  const withdraw = (uid: string) => world.must(methods.deletePublicContent, { uid });
  const repoUid = async (group: string, name: string): Promise<string> => {
    const { repos } = await world.must(ReposService.method.listRepos, { uidp: { childrenOf: group }, name });
    return repos[0]?.uid ?? "";
  };
  /** A registry token that a client without a login gets. */
  const anonymousToken = async (...scopes: string[]): Promise<Answer> =>
    as().send("GET", `/token?${new URLSearchParams(scopes.map((scope): [string, string] => ["scope", scope]))}`);
  const bearer = async (...scopes: string[]) => {
    const answer = await anonymousToken(...scopes);
    assert.equal(answer.status, 200, answer.body.toString());
    return `Bearer ${(answer.json() as { token: string }).token}`;
  };
  /** A folder with two repositories, of which one is public. */
  const team = async () => {
    const name = `team-${teams++}`;
    const group = await world.group(world.orgUid, name);
    const images = await Promise.all(["open", "closed"].map((repo) => owner().image(`my-org/${name}/${repo}`, "1")));
    const uid = await repoUid(group, "open");
    await publish(uid);
    return { name: `my-org/${name}`, group, uid, image: images[0]!, closed: images[1]! };
  };
  return { as, owner, publish, withdraw, repoUid, anonymousToken, bearer, team };
}

/** The response without the names in the request. */
function told({ status, headers, body }: Answer, ...names: string[]): unknown {
  const { date: _date, "content-length": _length, ...others } = headers;
  const text = JSON.stringify({ status, others, body: body.toString() });
  return names.reduce((shown, name) => shown.replaceAll(name, "NAME"), text);
}

describeWithWorld("public content", (world) => {
  it("a client without a login pulls a public repository, with a token and without one", async () => {
    const { as, bearer, team } = actions(world);
    const { name, image } = await team();
    const base = await as().send("GET", "");
    assert.equal(base.status, 401);
    assert.match(String(base.headers["www-authenticate"]), /^Bearer realm="[^"]+\/token",service="[^"]+"$/);
    const token = await bearer(`repository:${name}/open:pull`);
    assert.equal((await as(token).send("GET", "")).status, 200);
    for (const authorization of [token, undefined, EMPTY_LOGIN]) {
      const client = as(authorization);
      const manifest = await client.send("GET", `${name}/open/manifests/1`);
      assert.equal(manifest.status, 200, manifest.body.toString());
      assert.equal(manifest.headers["docker-content-digest"], image.digest);
      const { config, layers } = manifest.json() as { config: { digest: string }; layers: { digest: string }[] };
      for (const { digest } of [config, ...layers]) assert.equal((await client.send("GET", `${name}/open/blobs/${digest}`)).status, 200);
      assert.deepEqual(((await client.send("GET", `${name}/open/tags/list`)).json() as { tags: string[] }).tags, ["1"]);
      assert.equal((await client.send("GET", `${name}/open/referrers/${image.digest}`)).status, 200);
      assert.equal((await client.send("HEAD", `${name}/open/manifests/${image.digest}`)).status, 200);
    }
  });

  it("private and missing repositories give an anonymous client the same answers", async () => {
    const { as, bearer, team } = actions(world);
    const { name, closed, group } = await team();
    const segment = (uid: string) => uid.slice(-16);
    const names = [`${name}/closed`, `${name}/absent`, `my-org/absent/closed`, `absent/closed`, `my-org/${segment(group)}/absent`];
    const paths = [
      ["GET", "manifests/1"],
      ["HEAD", "manifests/1"],
      ["GET", `manifests/${closed.digest}`],
      ["GET", `blobs/${closed.digest}`],
      ["GET", "tags/list"],
      ["GET", `referrers/${closed.digest}`],
      ["GET", "_holt/history/1"],
      ["POST", "blobs/uploads/"],
      ["PUT", "manifests/1"],
      ["DELETE", "manifests/1"],
      ["DELETE", `blobs/${closed.digest}`],
    ] as const;
    for (const withToken of [true, false]) {
      for (const [method, path] of paths) {
        const answers = await Promise.all(
          names.map(async (repo) => {
            const token = withToken ? await bearer(`repository:${repo}:pull,push,delete`) : undefined;
            return told(await as(token).send(method, `${repo}/${path}`), repo);
          }),
        );
        assert.match(String(answers[0]), /"status":401/, `${method} ${path}`);
        for (const answer of answers) assert.equal(answer, answers[0], `${method} ${path}`);
      }
    }
    const tokens = await Promise.all(
      names.map(async (repo) => {
        const payload = (await bearer(`repository:${repo}:pull,push,delete`)).split(".")[1] ?? "";
        return (JSON.parse(Buffer.from(payload, "base64url").toString()) as { access: unknown }).access;
      }),
    );
    for (const access of tokens) assert.deepEqual(access, []);
  });

  it("an anonymous client changes nothing, and sees no history, of a public repository", async () => {
    const { as, bearer, team } = actions(world);
    const { name, image } = await team();
    const token = await bearer(`repository:${name}/open:pull,push,delete`);
    const requests = [
      ["POST", `${name}/open/blobs/uploads/`],
      ["POST", `${name}/open/blobs/uploads/?mount=${image.digest}&from=${name}/open`],
      ["PUT", `${name}/open/manifests/2`],
      ["DELETE", `${name}/open/manifests/1`],
      ["DELETE", `${name}/open/manifests/${image.digest}`],
      ["GET", `${name}/open/_holt/history/1`],
      ["GET", `${name}/open/blobs/uploads/0123456789abcdef`],
      ["GET", `${name}/open/blobs/uploads/`],
    ] as const;
    for (const authorization of [undefined, token]) {
      for (const [method, path] of requests) {
        const { status, headers } = await as(authorization).send(method, path, { body: "" });
        assert.equal(status, 401, `${method} ${path}`);
        assert.match(String(headers["www-authenticate"]), /^Bearer /);
      }
    }
  });

  it("the catalog of an anonymous client lists public repositories alone", async () => {
    const { as, bearer, team } = actions(world);
    const { name } = await team();
    assert.equal((await as().send("GET", "/v2/_catalog")).status, 401);
    const { repositories } = (await as(await bearer("registry:catalog:*")).send("GET", "/v2/_catalog")).json() as {
      repositories: string[];
    };
    assert.ok(repositories.includes(`${name}/open`));
    for (const repo of ["closed", "absent"]) {
      const after = await as(await bearer("registry:catalog:*")).send("GET", `/v2/_catalog?last=${name}/${repo}`);
      assert.equal(after.status, 404, repo);
    }
    assert.ok(
      repositories.every((repository) => repository.endsWith("/open")),
      repositories.join(" "),
    );
  });

  it("a repository is private again for the next request, also for tokens that were made before", async () => {
    const { as, bearer, team, withdraw } = actions(world);
    const { name, uid } = await team();
    const token = await bearer(`repository:${name}/open:pull`);
    assert.equal((await as(token).send("GET", `${name}/open/manifests/1`)).status, 200);
    await withdraw(uid);
    for (const authorization of [token, undefined])
      assert.equal((await as(authorization).send("GET", `${name}/open/manifests/1`)).status, 401);
    assert.equal(codeOf(await world.rest.call(methods.getPublicContent, { uid }, world.token)), Code.NOT_FOUND);
  });

  it("a deleted repository or group is not public any more", async () => {
    const { team, publish } = actions(world);
    const { uid, group } = await team();
    await publish(group, [Kind.PYTHON]);
    const { repos } = await world.must(ReposService.method.listRepos, { uidp: { childrenOf: group } });
    for (const repo of repos) await world.must(ReposService.method.deleteRepo, { uid: repo.uid });
    await world.must(GroupsService.method.deleteGroup, { uid: group });
    for (const each of [uid, group])
      assert.equal(codeOf(await world.rest.call(methods.getPublicContent, { uid: each }, world.token)), Code.NOT_FOUND);
    const rows = await world.store.reader.selectFrom("public_content").select("uid").where("uid", "like", `${group}%`).execute();
    assert.deepEqual(rows, []);
  });

  it("callers with a login read public content beyond their own rights, and their organization's names come first", async () => {
    const { as, owner, team, publish } = actions(world);
    const { name, closed, image } = await team();
    const stranger = await world.user();
    const robot = await world.robot(await world.group(world.orgUid, "elsewhere"), [Capability.CAP_REPO_LIST]);
    for (const { token } of [stranger, robot]) {
      const registryToken = (
        (await as(basic("_token", token)).send("GET", `/token?scope=repository:${name}/open:pull,push`)).json() as { token: string }
      ).token;
      for (const authorization of [`Bearer ${token}`, `Bearer ${registryToken}`]) {
        assert.equal((await as(authorization).send("GET", `${name}/open/manifests/1`)).status, 200);
        assert.equal((await as(authorization).send("GET", `${name}/open/referrers/${image.digest}`)).status, 200);
        assert.notEqual((await as(authorization).send("GET", `${name}/closed/manifests/${closed.digest}`)).status, 200);
        assert.notEqual((await as(authorization).send("POST", `${name}/open/blobs/uploads/`)).status, 202);
      }
    }
    // Another organization takes a name that the robot's organization has, with a repository that it lacks.
    const other = await world.group("", "my-org");
    const intruder = await world.must(ReposService.method.createRepo, { parent: other, repo: { name: "lure" } });
    await owner().image(`${other}/lure`, "1");
    const refused = await world.rest.call(
      methods.createPublicContent,
      { parent: intruder.uid, publicContent: { kinds: [Kind.IMAGES] } },
      world.token,
    );
    assert.equal(errorOf(refused).code, Code.FAILED_PRECONDITION);
    assert.match(errorOf(refused).message, /another organization named "my-org" has public content/);
    const renamed = await world.group("", "renamed-later");
    await publish(renamed, [Kind.IMAGES]);
    const rename = { group: { uid: renamed, name: "my-org" }, updateMask: { paths: ["name"] } };
    assert.equal(codeOf(await world.rest.call(GroupsService.method.updateGroup, rename, world.token)), Code.FAILED_PRECONDITION);
    // As if the intruder had come first.
    await world.store.transaction(async (db) => {
      await db.updateTable("group").set({ name: "my-org" }).where("uid", "=", renamed).execute();
    });
    await owner().image(`${renamed}/lure`, "1");
    assert.equal((await as(`Bearer ${robot.token}`).send("GET", "my-org/lure/manifests/1")).status, 404);
    assert.equal((await as(`Bearer ${stranger.token}`).send("GET", `${renamed}/lure/manifests/1`)).status, 200);
    await world.must(methods.deletePublicContent, { uid: renamed });
    for (const uid of [other, renamed])
      await world.must(GroupsService.method.updateGroup, { group: { uid, name: `former-${uid}` }, updateMask: { paths: ["name"] } });
  });

  it("a caller whose only right to a repository is that it is public sees no history of its tags", async () => {
    const { as, owner, team } = actions(world);
    const { name } = await team();
    const stranger = await world.user();
    const reader = await world.robot(world.orgUid, [Capability.CAP_TAG_LIST]);
    const statusOf = async (client: RegistryClient) => (await client.send("GET", `${name}/open/_holt/history/1`)).status;
    assert.equal(await statusOf(as(`Bearer ${stranger.token}`)), 404);
    for (const client of [owner(), as(`Bearer ${reader.token}`)]) assert.equal(await statusOf(client), 200);
    const tags = await as(`Bearer ${stranger.token}`).send("GET", `${name}/open/tags/list`);
    assert.deepEqual(tags.json(), { name: `${name}/open`, tags: ["1"] });
  });

  it("anonymous clients read public Python packages, and no provenance names its publisher", async () => {
    const { as, owner, publish } = actions(world);
    const group = await world.group(world.orgUid, "py-open");
    await world.group(world.orgUid, "py-closed");
    const built = wheel({});
    const digest = sha256Of(built.bytes);
    const attestations = JSON.stringify([attestationOf(built)]);
    assert.equal((await upload(owner(), "my-org:py-open", built, { name: "Demo", version: "1.0.0", attestations })).status, 200);
    assert.equal((await upload(owner(), "my-org:py-closed", built, { name: "Demo", version: "1.0.0" })).status, 200);
    await publish(group, [Kind.PYTHON]);
    const root = "/libraries/python/my-org:py-open";
    const file = `${root}/files/${digest}/${built.fileName}`;
    for (const client of [as(), as(EMPTY_LOGIN)]) {
      for (const path of [`${root}/simple/`, `${root}/simple/demo/`, `${root}/pypi/demo/json`, file, `${file}.metadata`])
        assert.equal((await client.send("GET", path)).status, 200, path);
    }
    const publishers = (answer: Answer) => answer.body.toString().includes(world.owner.uid);
    assert.ok(publishers(await owner().send("GET", `${file}.provenance`)));
    const shown = await as().send("GET", `${file}.provenance`);
    assert.equal(shown.status, 200);
    assert.ok(!publishers(shown), shown.body.toString());
    assert.ok(!publishers(await as(`Bearer ${(await world.user()).token}`).send("GET", `${file}.provenance`)));
    const refusals = [];
    for (const folder of ["py-closed", "absent", "py-open:absent"]) {
      for (const path of ["simple/", "simple/demo/", `files/${digest}/${built.fileName}`])
        refusals.push(told(await as().send("GET", `/libraries/python/my-org:${folder}/${path}`)));
    }
    assert.match(String(refusals[0]), /"status":401.*Basic realm/);
    assert.deepEqual(new Set(refusals).size, 1);
    assert.equal((await as().send("GET", "/libraries/java/my-org:py-open/a/b/maven-metadata.xml")).status, 401);
    assert.equal((await upload(as(), "my-org:py-open", wheel({ version: "2.0.0" }), { name: "Demo", version: "2.0.0" })).status, 401);
    assert.equal((await as().send("DELETE", file)).status, 401);
    assert.equal((await as().send("POST", `${root}/simple/demo/1.0.0/yank`)).status, 401);
  });

  it("anonymous clients read public Java packages and publish none", async () => {
    const { as, owner, publish } = actions(world);
    const group = await world.group(world.orgUid, "java-open");
    const root = "/libraries/java/my-org:java-open";
    const coordinates = { groupId: "com.example", artifactId: "lib", version: "1.0" };
    await createMavenClient(owner(), root).deploy(coordinates, "jar");
    const anonymous = createMavenClient(as(), root);
    const path = `${folderOf(coordinates)}/lib-1.0.jar`;
    assert.equal((await anonymous.get(path)).status, 401);
    await publish(group, [Kind.JAVA]);
    assert.equal((await anonymous.resolve(path)).toString(), "jar");
    assert.equal((await anonymous.get("com/example/lib/maven-metadata.xml")).status, 200);
    assert.equal((await anonymous.get("com/example/absent/maven-metadata.xml")).status, 404);
    for (const method of ["PUT", "DELETE"]) assert.equal((await anonymous.send(method, path)).status, 401);
    const login = createMavenClient(as(basic("somebody", "wrong")), root);
    assert.equal((await login.get(path)).status, 401);
  });

  it("content is made public by owners of the group, or others with the capability who may read it", async () => {
    const { repoUid, owner, publish, withdraw } = actions(world);
    const group = await world.group(world.orgUid, "rights");
    await owner().image("my-org/rights/app", "1");
    const uid = await repoUid(group, "app");
    const editor = await world.robot(group, [Capability.CAP_PUBLIC_CONTENT_CREATE]);
    const attempt = (parent: string, kinds: Kind[], { token }: Caller) =>
      world.rest.call(methods.createPublicContent, { parent, publicContent: { kinds } }, token);
    const denied = await attempt(uid, [Kind.IMAGES], editor);
    assert.equal(errorOf(denied).code, Code.PERMISSION_DENIED);
    assert.match(errorOf(denied).message, /cannot hand out capabilities that you do not hold/);
    const reader = await world.robot(group, [Capability.CAP_PUBLIC_CONTENT_CREATE, Capability.CAP_LIBRARIES_JAVA_LIST]);
    assert.equal(codeOf(await attempt(group, [Kind.JAVA], reader)), 0);
    assert.equal(codeOf(await attempt(group, [Kind.JAVA], world.owner)), Code.ALREADY_EXISTS);
    const more = { publicContent: { uid: group, kinds: [Kind.JAVA, Kind.IMAGES] }, updateMask: { paths: ["kinds"] } };
    const updater = await world.robot(group, [Capability.CAP_PUBLIC_CONTENT_UPDATE, Capability.CAP_LIBRARIES_JAVA_LIST]);
    assert.equal(codeOf(await world.rest.call(methods.updatePublicContent, more, updater.token)), Code.PERMISSION_DENIED);
    assert.equal(codeOf(await world.rest.call(methods.updatePublicContent, more, world.token)), 0);
    for (const kinds of [[], [Kind.PYTHON], [Kind.UNSPECIFIED], [Kind.IMAGES, Kind.IMAGES]])
      assert.equal(codeOf(await attempt(uid, kinds, world.owner)), Code.INVALID_ARGUMENT);
    assert.equal(codeOf(await attempt(`${group}/0123456789abcdef`, [Kind.IMAGES], world.owner)), Code.NOT_FOUND);
    const since = await lastSeq(world);
    await publish(uid);
    await withdraw(uid);
    const events = await eventsAfter(world, since);
    assert.deepEqual(
      events.map(({ type, subject }) => [type.replace(/^.*api\./, ""), subject]),
      [
        ["holt.public_content.created.v1", uid],
        ["holt.public_content.deleted.v1", uid],
      ],
    );
    const listed = answerOf(await world.rest.call(methods.listPublicContent, { uidp: { descendantsOf: group } }, world.token));
    assert.deepEqual(
      listed.publicContent.map((each) => [each.uid, each.kinds]),
      [[group, [Kind.JAVA, Kind.IMAGES]]],
    );
    await withdraw(group);
  });

  it("role bindings of the anonymous principal give anonymous callers nothing", async () => {
    const { as, owner, bearer, team } = actions(world);
    await team();
    await owner().image("my-org/secret", "1");
    await world.bind(ANONYMOUS_UID, await world.role(world.orgUid, [Capability.CAP_MANIFEST_LIST]), world.orgUid);
    const token = await bearer("repository:my-org/secret:pull");
    for (const authorization of [token, undefined])
      assert.equal((await as(authorization).send("GET", "my-org/secret/manifests/1")).status, 401);
    for (const [method, path] of [
      ["POST", "/sts/exchange"],
      ["GET", "/iam/v2/groups"],
      ["GET", "/oauth/userinfo"],
      ["GET", "/scim/v2/Users"],
    ] as const)
      assert.notEqual((await world.http(method, path, method === "POST" ? "{}" : undefined, { authorization: token })).status, 200, path);
  });

  it("pulls without a login are counted by hour, without address or identity", async () => {
    const { as, team } = actions(world);
    const { name, uid } = await team();
    for (let pulls = 0; pulls < 3; pulls++) assert.equal((await as().send("GET", `${name}/open/manifests/1`)).status, 200);
    const counted = () => world.store.reader.selectFrom("pull_count").selectAll().where("repo_uid", "=", uid).execute();
    await until(async () => (await counted())[0]?.count === 3);
    const since = await lastSeq(world);
    world.clock.advance(2 * 3_600_000);
    await as().send("GET", `${name}/open/manifests/1`);
    await until(async () => (await eventsAfter(world, since)).some(({ type }) => type.endsWith("registry.pull.hourly.v1")));
    const events = (await eventsAfter(world, since)).filter(({ type, subject }) => type.includes("registry.pull") && subject === uid);
    assert.equal(events.length, 1);
    assert.match(events[0]?.data ?? "", /^\{"body":\{/);
    assert.match(events[0]?.data ?? "", /"count":3/);
    assert.doesNotMatch(events[0]?.data ?? "", /127\.0\.0\.1|0{40}/);
  });
});

it("without any public content, the registry asks anonymous clients to log in", async () => {
  await using world = await startWorld();
  const { as, anonymousToken } = actions(world);
  assert.equal((await anonymousToken("repository:my-org/app:pull")).status, 401);
  assert.equal((await as().send("GET", "/libraries/python/my-org/simple/")).status, 401);
});

it("nothing is public, and nothing becomes public, while the operator forbids it", async () => {
  await using folder = await temporaryFolder();
  const env = { HOLT_DATA_DIR: folder.path };
  let [name, token] = ["", ""];
  {
    await using world = await startWorld({ env });
    const { bearer, team } = actions(world);
    name = (await team()).name;
    token = await bearer(`repository:${name}/open:pull`);
  }
  await using world = await startWorld({ env: { ...env, HOLT_PUBLIC_CONTENT: "off" } });
  const { as, anonymousToken } = actions(world);
  for (const authorization of [token, undefined, EMPTY_LOGIN])
    assert.equal((await as(authorization).send("GET", `${name}/open/manifests/1`)).status, 401);
  assert.equal((await anonymousToken()).status, 401);
  const stranger = await world.user();
  assert.equal((await as(`Bearer ${stranger.token}`).send("GET", `${name}/open/manifests/1`)).status, 404);
  const refused = await world.rest.call(
    methods.createPublicContent,
    { parent: world.orgUid, publicContent: { kinds: [Kind.JAVA] } },
    world.token,
  );
  assert.match(errorOf(refused).message, /forbids public content/);
});

it("a server notices that another server of the same database made content private", async () => {
  await using folder = await temporaryFolder();
  const common = { HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: await createMigratedDatabase() };
  await using world = await startWorld({ store: "postgres", env: common });
  await using second = await startServer({
    store: "postgres",
    env: { ...common, HOLT_BASE_URL: world.baseUrl, HOLT_LISTEN: `127.0.0.1:${await freePort()}` },
  });
  const { team, withdraw } = actions(world);
  const { name, uid } = await team();
  const statusThere = async () => (await second.http("GET", `/v2/${name}/open/manifests/1`, undefined, {})).status;
  await until(async () => (await statusThere()) === 200);
  await withdraw(uid);
  await until(async () => (await statusThere()) === 401);
});
