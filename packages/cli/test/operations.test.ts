/** Commands that are generated from the contract. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { services } from "@holt/api";
import { readCommands, readOperation } from "../src/generated.ts";
import { type CommandLineWorld, startCommandLineWorld } from "./harness.ts";

interface Resource {
  readonly uid: string;
  readonly name: string;
  readonly description: string;
}

test("every operation of the contract is a command with a summary", () => {
  const operations = readCommands().filter(({ kind }) => kind === "operation");
  const described = operations.map(({ path }) => readOperation(path).operation);
  const expected = services.flatMap(({ typeName, methods }) => methods.map(({ name }) => `${typeName}/${name}`));
  assert.deepEqual(described.sort(), expected.sort());
  assert.deepEqual(
    operations.filter(({ summary }) => summary === ""),
    [],
  );
});

describe("generated commands", () => {
  const world = {} as CommandLineWorld;
  before(async () => void Object.assign(world, await startCommandLineWorld()));
  after(() => world[Symbol.asyncDispose]());

  test("the name of a file in place of its content is refused with the way to send the content", async () => {
    const { holt } = world;
    await writeFile(join(holt.folder, "cosign.pub"), "not a key");
    const create = ["registry", "signature-keys", "create", "--parent", "my-org", "--name", "release", "--public-key"];
    const advised = await holt.run([...create, "cosign.pub"]);
    assert.equal(advised.status, 8);
    assert.match(
      advised.stderr,
      /public key in PEM form.*\n {2}→ correct the value; --public-key @cosign\.pub sends the content of the file\n$/,
    );
    for (const other of ["@cosign.pub", "missing.pub", "x".repeat(5000)]) {
      const { status, stderr } = await holt.run([...create, other]);
      assert.equal(status, 8);
      assert.match(stderr, /→ correct the value; --help shows/);
    }
  });

  test("a resource is created, read, changed, listed and deleted by its name", async () => {
    const { holt } = world;
    const created = await holt.json<Resource>(["iam", "groups", "create", "--parent", "my-org", "--name", "team-a"]);
    assert.equal((await holt.json<Resource>(["iam", "groups", "get", "my-org/team-a"])).uid, created.uid);
    const changed = await holt.json<Resource>(["iam", "groups", "update", "team-a", "--description", "builds things"]);
    assert.deepEqual([changed.name, changed.description], ["team-a", "builds things"]);
    const cleared = await holt.json<Resource>(["iam", "groups", "update", "team-a", "--description", ""]);
    assert.equal(cleared.description, "");
    const listed = await holt.json<Resource[]>(["iam", "groups", "list", "--descendants-of", "my-org"]);
    assert.deepEqual(
      listed.map(({ name }) => name),
      ["team-a"],
    );
    const unconfirmed = await holt.run(["iam", "groups", "delete", "team-a"]);
    assert.equal(unconfirmed.status, 2);
    assert.match(unconfirmed.stderr, /→ repeat the command with --yes/);
    await holt.must(["iam", "groups", "delete", "team-a", "--yes"]);
    assert.equal((await holt.run(["iam", "groups", "get", "team-a"])).status, 5);
  });

  test("fields come from a file in JSON or YAML, and flags win over it", async () => {
    const { holt } = world;
    const json = join(holt.folder, "role.json");
    await writeFile(json, JSON.stringify({ name: "reader", description: "from the file", capabilities: ["CAP_IAM_GROUPS_LIST"] }));
    const create = ["iam", "roles", "create", "--parent", "my-org", "--from-file"];
    const role = await holt.json<Resource & { capabilities: string[] }>([...create, json, "--description", "from the flag"]);
    assert.deepEqual([role.name, role.description, role.capabilities], ["reader", "from the flag", ["CAP_IAM_GROUPS_LIST"]]);
    const yaml = "name: writer\ncapabilities:\n  - CAP_IAM_GROUPS_UPDATE\n";
    assert.equal((await holt.json<Resource>([...create, "-"], { input: yaml })).name, "writer");
    const changed = await holt.json<Resource>(["iam", "roles", "update", "reader", "--from-file", "-"], {
      input: "description: changed\n",
    });
    assert.deepEqual([changed.name, changed.description], ["reader", "changed"]);
  });

  test("flags take short names of values, durations, repeated values and nested fields", async () => {
    const { holt } = world;
    const token = await holt.json<{ rights: string[]; expireTime: string; createTime: string; password: string }>([
      ...["iam", "pull-tokens", "create", "--parent", "my-org", "--name", "cluster"],
      ...["--rights", "images-pull", "--rights", "python-pull", "--ttl", "1d12h"],
    ]);
    assert.deepEqual(token.rights, ["RIGHT_IMAGES_PULL", "RIGHT_PYTHON_PULL"]);
    assert.equal(Date.parse(token.expireTime) - Date.parse(token.createTime), 36 * 3_600_000);
    const identity = await holt.json<{ claimMatch: { issuer: string; claims: Record<string, string> } }>([
      ...["iam", "identities", "create", "--parent", "my-org", "--name", "ci", "--claim-match.issuer", "https://ci.test"],
      ...["--claim-match.subject", "build", "--claim-match.claims", "ref=main"],
    ]);
    assert.deepEqual([identity.claimMatch.issuer, identity.claimMatch.claims], ["https://ci.test", { ref: "main" }]);
  });

  test("a list reads as many pages as it needs, and says when there is more", async () => {
    const { holt } = world;
    const parent = await world.group(world.orgUid, "many");
    for (let number = 0; number < 7; number++) await world.group(parent, `folder-${number}`);
    const list = ["iam", "groups", "list", "--children-of", "many", "--order-by", "name"];
    const cut = await holt.run([...list, "--limit", "3", "-o", "csv"]);
    assert.deepEqual(
      cut.stdout
        .split("\r\n")
        .slice(1, -1)
        .map((line) => line.split(",")[0]),
      ["folder-0", "folder-1", "folder-2"],
    );
    assert.match(cut.stderr, /^These are 3 of 7; --all shows every one\.$/m);
    const all = await holt.run([...list, "--all", "-o", "name"]);
    assert.equal(all.stdout.trim().split("\n").length, 7);
    assert.equal(all.stderr, "");
  });

  test("a mistyped name or path of a resource is answered with a similar one", async () => {
    await world.holt.must(["iam", "groups", "create", "--parent", "my-org", "--name", "spelling"]);
    await world.holt.must(["iam", "groups", "create", "--parent", "my-org/spelling", "--name", "inner"]);
    const cases: [string[], RegExp][] = [
      [["grant", world.owner.uid, "viewr", "my-org"], /there is no role "viewr" that you can see; did you mean viewer\?/],
      [["tree", "speling"], /there is no group "speling" that you can see; did you mean spelling\?/],
      [["tree", "my-org/spelling/iner"], /did you mean my-org\/spelling\/inner\?/],
      [["tree", "speling/inner"], /did you mean spelling\/inner\?/],
      [["images", "ls", "unlike-any-repository"], /there is no repository "unlike-any-repository" that you can see\n/],
    ];
    for (const [args, expected] of cases) {
      const { status, stderr } = await world.holt.run(args);
      assert.equal(status, 5, stderr);
      assert.match(stderr, expected);
    }
  });

  test("a name that several resources have lists them, and a longer path selects one", async () => {
    const { holt } = world;
    const [east, west] = [await world.group(world.orgUid, "east"), await world.group(world.orgUid, "west")];
    const uids = [await world.group(east, "app"), await world.group(west, "app")];
    const { status, stderr } = await holt.run(["iam", "groups", "get", "app"]);
    assert.equal(status, 2);
    assert.match(stderr, /"app" is the name of 2 resources/);
    for (const line of [`my-org/east/app  ${uids[0]}`, `my-org/west/app  ${uids[1]}`]) assert.ok(stderr.includes(line), stderr);
    assert.equal((await holt.json<Resource>(["iam", "groups", "get", "west/app"])).uid, uids[1]);
  });

  test("the group of the context is the default parent", async () => {
    const { holt } = world;
    await holt.must(["context", "use", "test", "--group", "my-org"]);
    const made = await holt.json<Resource>(["iam", "groups", "create", "--name", "default-parent"]);
    assert.ok(made.uid.startsWith(`${world.orgUid}/`));
    const organization = await holt.json<Resource>(["iam", "groups", "create", "--parent", "/", "--name", "another-org"]);
    assert.ok(!organization.uid.includes("/"));
    await holt.must(["context", "use", "test", "--group", ""]);
  });

  test("version 1 and Holt's own services are commands, too", async () => {
    const { holt } = world;
    const groups = await holt.json<{ name: string }[]>(["v1", "iam", "groups", "list", "--in-root"]);
    assert.ok(groups.some(({ name }) => name === "my-org"));
    const why = await holt.json<{ allowed: boolean }>([
      ...["iam", "access", "explain", "my-org", "--identity-uid", world.owner.uid, "--capability", "groups.list"],
    ]);
    assert.equal(why.allowed, true);
  });
});
