/** Commands of every day: rights, invites, the tree, pull tokens and any request. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type CommandLineWorld, startCommandLineWorld } from "./harness.ts";

describe("commands of every day", () => {
  const world = {} as CommandLineWorld;
  before(async () => void Object.assign(world, await startCommandLineWorld()));
  after(() => world[Symbol.asyncDispose]());

  test("a role is granted, explained and revoked by names, and a second grant changes nothing", async () => {
    const { holt } = world;
    await world.group(world.orgUid, "granted");
    const robot = await world.robot(world.orgUid, []);
    const grant = ["grant", robot.uid, "viewer", "granted"];
    const binding = await holt.json<{ uid: string }>(grant);
    assert.equal((await holt.json<{ uid: string }>(grant)).uid, binding.uid);
    assert.equal((await holt.json<{ allowed: boolean }>(["explain", robot.uid, "groups.list", "granted"])).allowed, true);
    assert.match(await holt.must(["explain", robot.uid, "groups.list", "granted"]), /^ROLES WITH CAPABILITY +.*\bviewer, /m);
    assert.match(await holt.must(["can", "groups.list", "granted", "--identity", robot.uid]), /^yes: /);
    await holt.must(["revoke", robot.uid, "viewer", "granted", "--yes"]);
    const no = await holt.run(["can", "groups.list", "granted", "--identity", robot.uid]);
    assert.deepEqual([no.status, /^no: /.test(no.stdout)], [4, true]);
    assert.equal((await holt.run(["revoke", robot.uid, "viewer", "granted", "--yes"])).status, 5);
  });

  test("an empty identity or role revokes nothing", async () => {
    const { holt } = world;
    await world.group(world.orgUid, "guarded");
    const robot = await world.robot(world.orgUid, []);
    await holt.must(["grant", robot.uid, "viewer", "guarded"]);
    for (const parts of [
      ["", "viewer"],
      [robot.uid, ""],
    ])
      assert.equal((await holt.run(["revoke", ...parts, "guarded", "--yes"])).status, 2);
    assert.match(await holt.must(["can", "groups.list", "guarded", "--identity", robot.uid]), /^yes: /);
  });

  test("a caller learns its own rights without the right to list those of others", async () => {
    const robot = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    const env = { HOLT_URL: world.baseUrl, HOLT_TOKEN: robot.token };
    assert.match(await world.holt.must(["can", "groups.list", world.orgUid], { env }), /^yes/);
    assert.equal((await world.holt.run(["can", "groups.delete", world.orgUid], { env })).status, 4);
  });

  test("the tree shows groups and what they contain", async () => {
    const { holt } = world;
    const top = await world.group(world.orgUid, "top");
    await world.group(await world.group(top, "middle"), "bottom");
    await holt.must(["registry", "repos", "create", "--parent", "top/middle", "--name", "app"]);
    const shown = await holt.must(["tree", "top", "--with", "repos"]);
    assert.equal(shown, "top\n└── middle\n    ├── app (repository)\n    └── bottom\n");
    assert.equal(await holt.must(["tree", "top", "--depth", "1"]), "top\n└── middle\n");
  });

  test("an invite is a link, and a pull token comes with the commands that use it", async () => {
    const { holt } = world;
    const link = await holt.must(["invite", "my-org", "--role", "viewer", "--ttl", "2d", "--single-use", "-o", "name"]);
    assert.match(link, new RegExp(`^${world.baseUrl}/oauth\\?invite=\\S+\n$`));
    const invite = ["invite", "my-org", "--role", "viewer", "--email", "ann@example.com", "--ttl", "12h"];
    const { email, singleUse } = await holt.json<{ email: string; singleUse?: boolean }>(invite);
    assert.deepEqual([email, singleUse ?? false], ["ann@example.com", false]);
    const shown = await holt.must([
      "pull-token",
      "create",
      "my-org",
      "--name",
      "machines",
      "--right",
      "images-pull",
      "--right",
      "java-pull",
    ]);
    assert.match(shown, /printf %s 'holt_pt_\w+' \| docker login -u 'pull-\w+' --password-stdin 127\.0\.0\.1:\d+/);
    assert.match(shown, /<server><id>holt<\/id>/);
    await world.group(world.orgUid, "team a");
    const spaced = await holt.must(["pull-token", "create", "my-org/team a", "--name", "machines", "--right", "python-pull"]);
    assert.match(spaced, /pip install --index-url http:\S+\/libraries\/python\/my-org\/team%20a\/simple\/ PACKAGE/);
  });

  test("capabilities of a role have the names that other commands take", async () => {
    const names = (await world.holt.must(["roles", "capabilities", "viewer", "-o", "csv"])).trim().split("\r\n").slice(1);
    assert.ok(names.includes("groups.list") && !names.includes("groups.create"), names.join());
  });

  test("a token is tested against the identities of a group", async () => {
    const { holt } = world;
    const identity = ["iam", "identities", "create", "--parent", "my-org", "--name", "ci"];
    await holt.must([...identity, "--claim-match.issuer", "https://ci.test", "--claim-match.subject", "build"]);
    const claims = JSON.stringify({ iss: "https://ci.test", sub: "deploy" });
    const [miss] = await holt.json<{ match: boolean; claim: string }[]>(["test-token", "my-org", "--claims", claims]);
    assert.deepEqual([miss?.match, miss?.claim], [false, "sub"]);
    const stranger = JSON.stringify({ iss: "https://other.test", sub: "build" });
    const { stderr } = await holt.run(["test-token", "my-org", "--claims", stranger]);
    assert.match(stderr, /No identity there accepts tokens of this issuer\./);
  });

  test("any request of the API is sent, with pages joined and jq applied", async () => {
    const { holt } = world;
    const parent = await world.group(world.orgUid, "paged");
    for (const name of ["a", "b", "c"]) await world.group(parent, name);
    const list = ["api", "GET", "/iam/v2/groups", "-f", `uidp.children_of=${parent}`, "-f", "page_size=1", "-f", "order_by=name"];
    assert.equal(await holt.must([...list, "--paginate", "--jq", ".groups[].name"]), "a\nb\nc\n");
    assert.equal(await holt.must([...list, "--jq", ".groups | length"]), "1\n");
    const made = await holt.must(["api", "POST", `/iam/v2/groups/${parent}`, "--body", "@-", "--jq", ".name"], { input: '{"name": "d"}' });
    assert.equal(made, "d\n");
    assert.equal((await holt.run([...list, "--jq", ".groups["])).status, 2);
  });

  test("a token is never sent to a host that a path names", async () => {
    for (const path of ["@evil.test/x", ".evil.test", "//evil.test/x"]) {
      const { stderr, status } = await world.holt.run(["api", "GET", path]);
      assert.ok(status === 2 || /Not Found/.test(stderr), `${path}: ${stderr}`);
      assert.doesNotMatch(stderr, /cannot reach/);
    }
  });

  test("a client of the registry gets a token for a known host, and the text that clients expect for others", async () => {
    const { holt } = world;
    const host = new URL(world.baseUrl).host;
    const known = JSON.parse(await holt.must(["credential-helper", "get"], { input: `${host}\n` }));
    assert.deepEqual(known, { ServerURL: host, Username: "_token", Secret: world.token });
    const accepted = await world.http("GET", "/v2/", undefined, {
      authorization: `Basic ${Buffer.from(`${known.Username}:${known.Secret}`).toString("base64")}`,
    });
    assert.equal(accepted.status, 200);
    const unknown = await holt.run(["credential-helper", "get"], { input: "registry.test" });
    assert.deepEqual([unknown.status, unknown.stdout], [1, "credentials not found in native keychain\n"]);
    assert.deepEqual(JSON.parse(await holt.must(["credential-helper", "list"])), { [host]: "_token" });
    assert.equal((await holt.run(["credential-helper", "store"], { input: "{}" })).status, 0);
  });

  test("a client of the registry gets the token of the account that HOLT_CONTEXT names", async () => {
    const { holt } = world;
    const input = new URL(world.baseUrl).host;
    await holt.must(["workload", "create", "my-org", "--name", "puller", "--key", "puller.key"]);
    world.clock.catchUp();
    await holt.must(["login", world.baseUrl, "--from", "key:puller.key", "--name", "puller"]);
    await holt.must(["context", "use", "test"]);
    const secretOf = async (env: Record<string, string>) =>
      (JSON.parse(await holt.must(["credential-helper", "get"], { input, env })) as { Secret: string }).Secret;
    assert.equal(await secretOf({}), world.token);
    assert.equal(await secretOf({ HOLT_CONTEXT: "puller" }), (await holt.must(["token", "--context", "puller"])).trim());
  });
});
