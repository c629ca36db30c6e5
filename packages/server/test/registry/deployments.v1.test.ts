import assert from "node:assert/strict";
import { beforeEach, it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { parse } from "../harness/json.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const { createDeployment, updateDeployment, getDeployment, getRegistrySettings, updateRegistrySettings } = Registry.method;
const REPO = "https://charts.example.com";

describeWithWorld("deployments in version 1", (world) => {
  let deployer: Caller;
  let repo: string;
  beforeEach(async () => {
    const group = await world.group(world.orgUid);
    repo = (await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "nginx" } })).uid;
    deployer = await world.robot(world.orgUid, [
      Capability.CAP_INTERNAL,
      Capability.CAP_REGISTRY_DEPLOYMENTS_CREATE,
      Capability.CAP_REGISTRY_DEPLOYMENTS_UPDATE,
      Capability.CAP_REGISTRY_DEPLOYMENTS_LIST,
    ]);
  });
  const raw = async (verb: string, body?: unknown) => {
    const answer = await world.raw(verb, `/registry/v1/repos/${repo}/deployment`, body, deployer.token);
    return { status: answer.status, body: parse(answer.text) };
  };

  it("a deployment has the id of its repo, and unset texts stay distinct from empty ones", async () => {
    const charts = [{ repo: REPO }, { repo: "oci://charts.example.com/a", source: "", chart: "" }, { repo: REPO, source: "a", chart: "b" }];
    const made = { id: repo, charts: [{ repo: REPO }, { source: "", repo: "oci://charts.example.com/a", chart: "" }, charts[2]] };
    assert.deepEqual(await raw("POST", { charts }), { status: 200, body: made });
    assert.deepEqual(await raw("GET"), { status: 200, body: made });
    const { charts: read } = answerOf(await world.grpc.call(getDeployment, { repoId: repo }, deployer.token));
    assert.deepEqual(
      read.map(({ source, chart }) => [source, chart]),
      [
        [undefined, undefined],
        ["", ""],
        ["a", "b"],
      ],
    );
  });

  it("a missing or cleared deployment is empty, and a cleared one cannot be created again", async () => {
    const empty = { status: 200, body: { id: repo, charts: [] } };
    assert.deepEqual(await raw("GET"), empty);
    assert.equal((await raw("POST", { charts: [{ repo: REPO }] })).status, 200);
    assert.equal((await raw("POST", { charts: [{ repo: REPO }] })).status, 409);
    assert.deepEqual(await raw("PUT", { charts: [] }), empty);
    assert.deepEqual(await raw("GET"), empty);
    assert.equal((await raw("POST", { charts: [{ repo: REPO }] })).status, 409);
  });

  it("an update creates a deployment that does not exist", async () => {
    assert.equal((await raw("PUT", { charts: [{ repo: REPO, chart: "x" }] })).status, 200);
    assert.deepEqual((await raw("GET")).body.charts, [{ repo: REPO, chart: "x" }]);
  });

  it("a deployment of a missing repo is empty, and cannot be stored", async () => {
    const missing = `${repo.slice(0, -16)}0123456789abcdef`;
    for (const client of world.clients) {
      assert.equal(codeOf(await client.call(createDeployment, { parentId: missing }, deployer.token)), Code.NOT_FOUND);
      assert.equal(codeOf(await client.call(updateDeployment, { repoId: missing }, deployer.token)), Code.NOT_FOUND);
      const { id, charts } = answerOf(await client.call(getDeployment, { repoId: missing }, deployer.token));
      assert.deepEqual([id, charts], [missing, []]);
    }
  });

  it("the URL of a chart repository must be a public one", async () => {
    const attempts = [
      "",
      "charts",
      "http://charts.example.com",
      "ftp://charts.example.com",
      "https://me:secret@charts.example.com",
      "oci:///a",
    ];
    for (const url of attempts) {
      const { code, message } = errorOf(
        await world.grpc.call(createDeployment, { parentId: repo, charts: [{ repo: url }] }, deployer.token),
      );
      assert.equal(code, Code.INVALID_ARGUMENT, url);
      assert.match(message, /^Invalid argument: charts\[0\]\.repo: repo must/);
    }
    const charts = ["http://localhost:8080/charts", "http://127.0.0.1", "http://[::1]:1"].map((url) => ({ repo: url }));
    answerOf(await world.rest.call(createDeployment, { parentId: repo, charts }, deployer.token));
  });

  it("the deployment is deleted with its repo", async () => {
    await raw("POST", { charts: [{ repo: REPO }] });
    await world.must(ReposService.method.deleteRepo, { uid: repo });
    assert.deepEqual(await world.store.reader.selectFrom("repo_deployment").selectAll().where("repo_uid", "=", repo).execute(), []);
    assert.deepEqual(await raw("GET"), { status: 200, body: { id: repo, charts: [] } });
  });
});

describeWithWorld("registry settings in version 1", (world) => {
  it("settings begin as false, and those of the nearest group apply", async () => {
    const keeper = await world.robot(world.orgUid, [Capability.CAP_REGISTRY_SETTINGS_UPDATE, Capability.CAP_REGISTRY_SETTINGS_LIST]);
    const upper = await world.group(world.orgUid, "upper");
    const inner = await world.group(upper, "inner");
    const get = async (registryId: string) => {
      const { text } = await world.raw("GET", `/registry/v1/settings/${registryId}`, undefined, keeper.token);
      return parse(text);
    };
    assert.deepEqual(await get(inner), { registryId: inner, uniqueTags: false, eolGracePeriod: false });
    const set = answerOf(
      await world.grpc.call(updateRegistrySettings, { registryId: upper, uniqueTags: true, eolGracePeriod: true }, keeper.token),
    );
    assert.deepEqual([set.registryId, set.uniqueTags, set.eolGracePeriod], [upper, true, true]);
    assert.deepEqual(await get(inner), { registryId: inner, uniqueTags: true, eolGracePeriod: true });
    await world.raw("PUT", `/registry/v1/settings/${inner}`, { uniqueTags: true }, keeper.token);
    assert.deepEqual(await get(inner), { registryId: inner, uniqueTags: true, eolGracePeriod: false });
    assert.deepEqual(await get(upper), { registryId: upper, uniqueTags: true, eolGracePeriod: true });
    const missing = { registryId: `${upper}/0123456789abcdef` };
    for (const client of world.clients)
      for (const method of [getRegistrySettings, updateRegistrySettings])
        assert.equal(codeOf(await client.call(method, missing, keeper.token)), Code.NOT_FOUND);
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${inner}`)).status, 200);
    assert.deepEqual(
      await world.store.reader.selectFrom("registry_settings").select("group_uid").where("group_uid", "=", inner).execute(),
      [],
    );
  });
});
