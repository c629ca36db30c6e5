/** Tests owners in the paths of libraries: folders that are separated by slashes work for Python, and are explained for Java. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("owners of libraries", (world) => {
  let client: RegistryClient;
  before(async () => {
    client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    await world.group(await world.group(world.orgUid, "team"), "backend");
    await world.group(world.orgUid, "simple");
  });
  after(() => client[Symbol.dispose]());

  test("a Python path may separate the folders of its owner by slashes", async () => {
    for (const owner of ["my-org:team:backend", "my-org/team/backend", "my-org:team/backend", "my-org"])
      assert.equal((await client.send("GET", `/libraries/python/${owner}/simple/`)).status, 200, owner);
    const uploads = [];
    for (const owner of ["my-org:team:backend", "my-org/team/backend", "my-org"])
      for (const path of [owner, `${owner}/`]) uploads.push((await client.send("POST", `/libraries/python/${path}`, { body: "" })).status);
    assert.equal(new Set(uploads).size, 1, String(uploads));
    assert.notEqual(uploads[0], 404);
    for (const path of ["my-org/none/simple/", "my-org/team/none", "my-org/simple/simple/simple/simple/"])
      assert.equal((await client.send("GET", `/libraries/python/${path}`)).status, 404, path);
  });

  test("a Java path whose owner has a slash is answered with the colon", async () => {
    const file = "com/example/lib/1.0/lib-1.0.jar";
    const slash = await client.send("GET", `/libraries/java/my-org/team/${file}`);
    assert.deepEqual([slash.status, /follows a colon: my-org:team/.test(slash.body.toString())], [404, true], slash.body.toString());
    for (const path of [`my-org/${file}`, `my-org:team/${file}`]) {
      const answer = await client.send("GET", `/libraries/java/${path}`);
      assert.deepEqual([answer.status, answer.body.toString().includes("colon")], [404, false], path);
    }
  });
});
