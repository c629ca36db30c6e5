/** Tests the settings of Python projects, on both stores. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PythonProjectsService, PythonProject_Status as Status } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { attestationOf } from "../harness/libraries/attestations.ts";
import { sha256Of, wheel } from "../harness/libraries/python-packages.ts";
import { createPythonProjects } from "../harness/libraries/python-projects.ts";
import { must } from "../harness/libraries/python-world.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { getPythonProject, listPythonProjects, updatePythonProject } = PythonProjectsService.method;
const { CAP_LIBRARIES_PYTHON_LIST: LIST, CAP_LIBRARIES_PYTHON_CREATE: CREATE, CAP_LIBRARIES_POLICY_UPDATE: POLICY } = Capability;
const PUBLIC = "https://index.example.com/simple/demo/";
const OTHER = "https://other.example.com/simple/Demo";

describeWithWorld("settings of Python projects", (world: World) => {
  const projects = createPythonProjects(world);
  const { as, get, library, publish, pageOf, htmlOf } = projects;
  after(() => projects[Symbol.dispose]());

  async function uidOf(group: string, name = "demo"): Promise<string> {
    const { pythonProjects } = await world.must(listPythonProjects, { uidp: { childrenOf: group }, name });
    return pythonProjects[0]?.uid ?? assert.fail("no project");
  }

  test("tracks and alternate locations appear on the project's page in both formats and change its entity tag", async () => {
    const { group, name, path } = await library();
    must(await publish(name, wheel()));
    const uid = await uidOf(group);
    const before = (await get(`${path}/simple/demo/`)).headers.etag;
    const page = await pageOf(path);
    assert.deepEqual([page.meta, page["alternate-locations"]], [{ "api-version": "1.4" }, undefined]);
    const locations = [OTHER, "http://127.0.0.1/x/demo"];
    const changed = await world.must(updatePythonProject, { pythonProject: { uid, tracks: [PUBLIC], alternateLocations: locations } });
    assert.deepEqual(
      [changed.name, changed.tracks, changed.alternateLocations, changed.status],
      ["demo", [PUBLIC], locations, Status.ACTIVE],
    );
    assert.deepEqual(await world.must(getPythonProject, { uid }), changed);
    const later = await pageOf(path);
    assert.deepEqual(later.meta, { "api-version": "1.4", tracks: [PUBLIC] });
    assert.deepEqual(later["alternate-locations"], locations);
    const html = await htmlOf(path);
    for (const line of [
      '<meta name="pypi:repository-version" content="1.4">',
      `<meta name="pypi:tracks" content="${PUBLIC}">`,
      `<meta name="pypi:alternate-locations" content="${OTHER}">`,
      '<meta name="pypi:project-status" content="active">',
    ])
      assert.ok(html.includes(line), html);
    assert.notEqual((await get(`${path}/simple/demo/`)).headers.etag, before);
    await world.must(updatePythonProject, { pythonProject: { uid }, updateMask: { paths: ["tracks", "alternate_locations"] } });
    assert.deepEqual((await pageOf(path)).meta, { "api-version": "1.4" });
  });

  test("a location that is not a page of the same project is refused", async () => {
    const { group, name } = await library();
    must(await publish(name, wheel()));
    const uid = await uidOf(group);
    for (const bad of [
      "https://index.example.com/simple/",
      "https://index.example.com/simple/other/",
      "https://user:secret@index.example.com/simple/demo/",
      "ftp://index.example.com/simple/demo/",
      "https://index.example.com/simple/demo/?x=1",
      "https://index.example.com/simple/demo/#x",
      "index.example.com/simple/demo/",
      ' https://index.example.com/"><script>/demo/',
      `https://index.example.com/${"x".repeat(2048)}/demo/`,
    ])
      for (const field of ["tracks", "alternateLocations"] as const) {
        const error = errorOf(await world.rest.call(updatePythonProject, { pythonProject: { uid, [field]: [bad] } }, world.owner.token));
        assert.equal(error.code, Code.INVALID_ARGUMENT, bad);
        assert.ok(!error.message.includes("secret"));
      }
    for (const tracks of [[PUBLIC, PUBLIC], Array.from({ length: 21 }, (_, i) => `https://i${i}.example.com/demo/`)]) {
      const error = errorOf(await world.grpc.call(updatePythonProject, { pythonProject: { uid, tracks } }, world.owner.token));
      assert.equal(error.code, Code.INVALID_ARGUMENT);
    }
    for (const pythonProject of [
      { uid, statusReason: "two\nlines" },
      { uid, statusReason: "x".repeat(501) },
      { uid, status: 99 as Status },
    ])
      assert.equal(errorOf(await world.grpc.call(updatePythonProject, { pythonProject }, world.owner.token)).code, Code.INVALID_ARGUMENT);
  });

  test("a publisher sets the status and alternate locations, but neither tracks nor a quarantine", async () => {
    const { group, name } = await library();
    must(await publish(name, wheel()));
    const uid = await uidOf(group);
    const publisher = await world.robot(group, [LIST, CREATE]);
    const reader = await world.robot(group, [LIST]);
    const manager = await world.robot(group, [LIST, CREATE, POLICY]);
    const update = async (change: object, { token }: { token: string }) =>
      world.rest.call(updatePythonProject, { pythonProject: { uid, ...change } }, token);
    const answerTo = async (change: object, caller: { token: string }) => codeOf(await update(change, caller));
    const quarantine = { status: Status.QUARANTINED, statusReason: "malware" };
    assert.equal(await answerTo({ status: Status.DEPRECATED }, reader), Code.PERMISSION_DENIED);
    assert.equal(await answerTo({ status: Status.DEPRECATED, alternateLocations: [OTHER] }, publisher), 0);
    assert.equal(await answerTo({ tracks: [PUBLIC] }, publisher), Code.PERMISSION_DENIED);
    assert.equal(await answerTo(quarantine, publisher), Code.PERMISSION_DENIED);
    assert.equal(await answerTo({ tracks: [PUBLIC], ...quarantine }, manager), 0);
    for (const change of [{ status: Status.ACTIVE }, { statusReason: "all is well" }])
      assert.equal(await answerTo(change, publisher), Code.PERMISSION_DENIED);
    // Deleting the project would end its quarantine.
    const client = as(publisher.token);
    must(await client.send("DELETE", `/libraries/python/${name}/simple/demo/1.0/`), 403);
    assert.equal(await answerTo({ status: Status.ACTIVE, statusReason: "" }, manager), 0);
    const outsider = await world.robot(await world.group(world.orgUid, `outside-${group.slice(-8)}`), [LIST, CREATE]);
    assert.equal(errorOf(await world.rest.call(getPythonProject, { uid }, outsider.token)).code, Code.PERMISSION_DENIED);
    assert.equal((await world.must(listPythonProjects, {}, outsider.token)).pythonProjects.length, 0);
  });

  test("an archived project refuses new files and serves those it has", async () => {
    const { group, name, path } = await library();
    const file = wheel();
    must(await publish(name, file));
    const uid = await uidOf(group);
    await world.must(updatePythonProject, { pythonProject: { uid, status: Status.ARCHIVED, statusReason: "use <other>" } });
    const refused = await publish(name, wheel({ version: "2.0" }));
    assert.equal(refused.status, 403);
    assert.match(refused.body.toString(), /the project demo is archived \(use <other>\) and accepts no new files/);
    must(await publish(name, file));
    const page = await pageOf(path);
    assert.deepEqual(page["project-status"], { status: "archived", reason: "use <other>" });
    assert.deepEqual([page.versions, page.files.length], [["1.0"], 1]);
    assert.ok((await htmlOf(path)).includes('<meta name="pypi:project-status-reason" content="use &lt;other&gt;">'));
    must(await get(`${path}/files/${sha256Of(file.bytes)}/${file.fileName}`));
    await world.must(updatePythonProject, { pythonProject: { uid, status: Status.DEPRECATED } });
    must(await publish(name, wheel({ version: "2.0" })));
    assert.deepEqual((await pageOf(path))["project-status"], { status: "deprecated", reason: "use <other>" });
  });

  test("a quarantined project refuses new files and offers none", async () => {
    const { group, name, path } = await library();
    const file = wheel({ headers: ["Summary: A demo", "Requires-Python: >=3.9"], description: "See http://evil.example.com" });
    must(await publish(name, file, [attestationOf(file)]));
    const url = `${path}/files/${sha256Of(file.bytes)}/${file.fileName}`;
    const metadataAt = async (page: string) => {
      const { info } = (await get(page)).json() as { info: Record<string, unknown> };
      return { version: info.version, summary: info.summary, description: info.description, requires: info.requires_python };
    };
    const bare = { version: "1.0", summary: null, description: "", requires: null };
    assert.notDeepEqual(await metadataAt(`${path}/pypi/demo/json`), bare);
    await world.must(updatePythonProject, { pythonProject: { uid: await uidOf(group), status: Status.QUARANTINED } });
    const page = await pageOf(path);
    assert.deepEqual([page["project-status"], page.versions, page.files], [{ status: "quarantined" }, ["1.0"], []]);
    assert.ok(!(await htmlOf(path)).includes("<a "));
    for (const part of ["", ".metadata", ".provenance"]) {
      const answer = await get(url + part);
      assert.equal(answer.status, 403);
      assert.match(answer.body.toString(), /the project demo is quarantined and offers no files/);
    }
    must(await publish(name, wheel({ version: "2.0" })), 403);
    const json = (await get(`${path}/pypi/demo/json`)).json() as { urls: unknown[]; releases: Record<string, unknown[]> };
    assert.deepEqual([json.urls, json.releases], [[], { "1.0": [] }]);
    for (const page of ["demo", "demo/1.0"]) assert.deepEqual(await metadataAt(`${path}/pypi/${page}/json`), bare);
  });

  test("a change of settings emits one event, and a change without effect none", async () => {
    const { group, name } = await library();
    must(await publish(name, wheel()));
    const uid = await uidOf(group);
    const seq = await lastSeq(world);
    const change = { pythonProject: { uid, status: Status.ARCHIVED } };
    await world.must(updatePythonProject, change);
    await world.must(updatePythonProject, change);
    const [event, ...others] = await eventsAfter(world, seq);
    assert.deepEqual(others, []);
    assert.match(event?.type ?? "", /\.api\.holt\.python_project\.updated\.v1$/);
    assert.deepEqual([event?.subject, event?.group_uid], [uid, group]);
    assert.equal(JSON.parse(event?.data ?? "").body.status, "STATUS_ARCHIVED");
  });

  test("lists have Python projects alone, by name in any spelling, in pages", async () => {
    const { group, name } = await library();
    for (const project of ["My-Pkg", "other", "third"]) must(await publish(name, wheel({ name: project })));
    const uidp = { childrenOf: group };
    const named = await world.must(listPythonProjects, { uidp, name: "my.PKG" });
    assert.deepEqual([named.pythonProjects.map((project) => project.name), named.totalCount], [["My-Pkg"], 1n]);
    const first = await world.must(listPythonProjects, { uidp, pageSize: 2, orderBy: "name desc" });
    const second = await world.must(listPythonProjects, { uidp, pageSize: 2, orderBy: "name desc", pageToken: first.nextPageToken });
    assert.deepEqual(
      [...first.pythonProjects, ...second.pythonProjects].map((project) => [project.name, project.status]),
      ["third", "other", "My-Pkg"].map((project) => [project, Status.ACTIVE]),
    );
    for (const odd of ["no\0name", "missing"])
      assert.equal((await world.must(listPythonProjects, { uidp, name: odd })).pythonProjects.length, 0);
    const { artifacts } = await world.must(ArtifactsService.method.listArtifacts, { ecosystems: [Ecosystem.PYTHON], query: "my-pkg" });
    assert.deepEqual(artifacts.filter(({ uid }) => uid === named.pythonProjects[0]?.uid).length, 1);
    const missing = errorOf(await world.rest.call(getPythonProject, { uid: `${group}/0123456789abcdef` }, world.owner.token));
    assert.equal(missing.code, Code.NOT_FOUND);
  });
});
