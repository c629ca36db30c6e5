/** Pages of Python projects on both stores: formats, caching, redirects, and access to them. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { createPythonWorld, JSON_TYPE, must, ownerOf } from "../harness/libraries/python-world.ts";
import { basic, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { CAP_LIBRARIES_PYTHON_LIST: LIST, CAP_LIBRARIES_PYTHON_CREATE: CREATE } = Capability;

describeWithWorld("pages of Python projects", (world: World) => {
  const python = createPythonWorld(world);
  after(() => python[Symbol.dispose]());
  const { as, library, owner } = python;

  test("a page has the content type that its client prefers", async () => {
    const { path } = await library();
    const client = owner();
    must(await upload(client, ownerOf(path), wheel()));
    for (const [accept, status, type] of [
      [undefined, 200, "text/html; charset=utf-8"],
      ["*/*", 200, "text/html; charset=utf-8"],
      [`${JSON_TYPE}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01`, 200, JSON_TYPE],
      ["application/vnd.pypi.simple.v1+html", 200, "application/vnd.pypi.simple.v1+html"],
      ["application/vnd.pypi.simple.latest+json", 200, JSON_TYPE],
      [`text/html;q=0.5, ${JSON_TYPE};q=0.4`, 200, "text/html; charset=utf-8"],
      ["application/vnd.pypi.simple.v2+json", 406, "text/plain; charset=utf-8"],
    ] as const) {
      for (const page of ["simple/", "simple/demo/"]) {
        const answer = await client.send("GET", `${path}/${page}`, { headers: accept === undefined ? {} : { accept } });
        assert.deepEqual([answer.status, answer.headers["content-type"]], [status, type], accept);
        assert.match(answer.headers.vary ?? "", /Accept/);
      }
    }
  });

  test("a page is not sent again while nothing changes", async () => {
    const { path } = await library();
    const client = owner();
    must(await upload(client, ownerOf(path), wheel()));
    const etag = (await client.send("GET", `${path}/simple/demo/`)).headers.etag ?? "";
    const again = () => client.send("GET", `${path}/simple/demo/`, { headers: { "if-none-match": etag } });
    assert.equal((await again()).status, 304);
    must(await upload(client, ownerOf(path), wheel({ version: "1.1" })));
    assert.equal((await again()).status, 200);
  });

  test("all projects are listed, and other spellings of a name redirect to the project", async () => {
    const { path } = await library();
    const client = owner();
    for (const name of ["My.Pkg", "another"]) must(await upload(client, ownerOf(path), wheel({ name })));
    const { projects } = (await client.send("GET", `${path}/simple/`, { headers: { accept: JSON_TYPE } })).json() as {
      projects: object[];
    };
    assert.deepEqual(projects, [{ name: "another" }, { name: "my-pkg" }]);
    assert.match((await client.send("GET", `${path}/simple/`)).body.toString(), /<a href="my-pkg\/">my-pkg<\/a>/);
    for (const [from, location] of [
      ["simple", "simple/"],
      ["simple/My_Pkg/", "../my-pkg/"],
      ["simple/My_Pkg", "my-pkg/"],
      ["simple/my-pkg", "my-pkg/"],
    ]) {
      const answer = await client.send("GET", `${path}/${from}`);
      assert.deepEqual([answer.status, answer.headers.location], [301, location], from);
    }
    assert.equal((await client.send("GET", `${path}/simple/missing/`)).status, 404);
    const respelled = await upload(client, ownerOf(path), wheel({ name: "my-pkg", version: "2.0" }));
    assert.equal(respelled.status, 400);
    assert.match(respelled.body.toString(), /"My\.Pkg"/);
  });

  test("readers can read, publishers can publish, and other callers cannot tell whether the library exists", async () => {
    const { path, group } = await library();
    const { fileName, bytes } = wheel();
    must(await upload(owner(), ownerOf(path), { fileName, bytes }));
    const token = async (...capabilities: Capability[]) => basic("_token", (await world.robot(group, capabilities)).token);
    const reader = as(await token(LIST));
    const publisher = as(await token(LIST, CREATE));
    const onlyPublisher = as(await token(CREATE));
    const robot = await world.robot(group, [LIST]);
    const puller = as(basic(robot.uid, await world.robotProof()));
    const outsider = as(basic("_token", (await world.robot(await world.group(world.orgUid, "elsewhere"), [LIST, CREATE])).token));
    const filePath = `${path}/files/${sha256Of(bytes)}/${fileName}`;
    const tries = (client: RegistryClient) =>
      Promise.all([
        client.send("GET", `${path}/simple/demo/`),
        client.send("GET", filePath),
        client.send("GET", `${filePath}.metadata`),
        upload(client, ownerOf(path), { fileName, bytes }),
        client.send("POST", `${path}/simple/demo/1.0/unyank`),
        client.send("DELETE", `${path}/simple/demo/9.9/`),
      ]);
    const statuses = async (client: RegistryClient) => (await tries(client)).map(({ status }) => status);
    assert.deepEqual(await statuses(reader), [200, 200, 200, 403, 403, 403]);
    assert.deepEqual(await statuses(puller), [200, 200, 200, 403, 403, 403]);
    assert.deepEqual(await statuses(publisher), [200, 200, 200, 200, 204, 404]);
    assert.deepEqual(await statuses(onlyPublisher), [403, 403, 403, 200, 204, 404]);
    assert.deepEqual(await statuses(outsider), [404, 404, 404, 404, 404, 404]);
    // A missing library gets the same response.
    const missing = await outsider.send("GET", "/libraries/python/my-org:missing/simple/demo/");
    const hidden = (await tries(outsider))[0]!;
    assert.equal(hidden.body.toString().replace(ownerOf(path), "my-org:missing"), missing.body.toString());

    for (const anonymous of [as(undefined), as(basic("_token", "no")), as(basic("somebody", "secret"))]) {
      for (const answer of await tries(anonymous)) {
        assert.equal(answer.status, 401);
        assert.equal(answer.headers["www-authenticate"], 'Basic realm="Holt"');
      }
    }
    const bearer = as(`Bearer ${world.token}`);
    must(await bearer.send("GET", `${path}/simple/demo/`));
    must(await bearer.send("GET", `/libraries/python/${group.split("/").join(":")}/simple/demo/`));
  });

  test("unknown paths and wrong methods are answered with one sentence", async () => {
    const { path } = await library();
    const client = owner();
    for (const [method, at, status] of [
      ["GET", `${path}/`, 405],
      ["GET", `${path}/nothing/here`, 404],
      ["PUT", `${path}/simple/`, 405],
      ["POST", `${path}/simple/demo/`, 405],
      ["GET", `${path}/simple/demo/1.0/yank`, 405],
      ["GET", `${path}/simple/%ff/`, 400],
      ["GET", `${path}/simple/a%00b/`, 400],
      ["GET", `${path}/simple/${"a".repeat(1000)}/`, 404],
      ["GET", "/libraries/java/my-org/com/example/", 404],
      ["GET", "/libraries/python/", 404],
      ["GET", "/libraries/python/my-org:/simple/", 404],
    ] as const) {
      const answer = await client.send(method, at);
      assert.equal(answer.status, status, `${method} ${at}: ${answer.body}`);
      assert.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
      assert.match(answer.body.toString(), /^\S.*\S\n$/);
    }
  });
});
