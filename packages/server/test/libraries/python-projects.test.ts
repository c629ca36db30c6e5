/** The settings of Python projects, the attestations of their files and the JSON API, on both stores. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { PythonProjectsService, PythonProject_Status as Status } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { startServer } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { type Attestation, attestationOf, signedStatement } from "../harness/libraries/attestations.ts";
import { FORM_TYPE, formOf, type PythonFile, sdist, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { createDatabase } from "../harness/postgres.ts";
import { type Answer, basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { getPythonProject, listPythonProjects, updatePythonProject } = PythonProjectsService.method;
const { CAP_LIBRARIES_PYTHON_LIST: LIST, CAP_LIBRARIES_PYTHON_CREATE: CREATE, CAP_LIBRARIES_POLICY_UPDATE: POLICY } = Capability;
const PUBLIC = "https://index.example.com/simple/demo/";
const OTHER = "https://other.example.com/simple/Demo";

interface Page {
  readonly meta: Record<string, unknown>;
  readonly "project-status": unknown;
  readonly "alternate-locations"?: unknown;
  readonly versions: string[];
  readonly files: (Record<string, unknown> & { filename: string; url: string; provenance?: string })[];
}

describeWithWorld("settings of Python projects", (world: World) => {
  const clients: RegistryClient[] = [];
  after(() => {
    for (const client of clients) client[Symbol.dispose]();
  });
  const as = (token: string): RegistryClient => {
    const client = createRegistryClient(world.baseUrl, basic("_token", token));
    clients.push(client);
    return client;
  };
  const owner = () => as(world.token);
  let groups = 0;
  async function library(): Promise<{ group: string; name: string; path: string }> {
    const name = `projects-${groups++}`;
    const group = await world.group(world.orgUid, name);
    return { group, name: `my-org:${name}`, path: `/libraries/python/my-org:${name}` };
  }
  async function publish(name: string, file: PythonFile, attestations?: unknown, client = owner()): Promise<Answer> {
    return upload(client, name, file, attestations === undefined ? {} : { attestations: JSON.stringify(attestations) });
  }
  const must = (answer: Answer, status = 200) => assert.equal(answer.status, status, answer.body.toString());
  const get = (path: string, headers: Record<string, string> = {}) => owner().send("GET", path, { headers });
  async function pageOf(path: string, project = "demo"): Promise<Page> {
    const answer = await get(`${path}/simple/${project}/`, { accept: "application/vnd.pypi.simple.v1+json" });
    must(answer);
    return answer.json();
  }
  const htmlOf = async (path: string) => (await get(`${path}/simple/demo/`, { accept: "text/html" })).body.toString();
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

  test("attestations are stored with their file and served as its provenance object", async () => {
    const { name, path } = await library();
    const files = [wheel(), await sdist()];
    for (const file of files) must(await publish(name, file, [attestationOf(file)]));
    const { files: listed } = await pageOf(path);
    const html = await htmlOf(path);
    for (const [index, file] of files.entries()) {
      const url = `${world.baseUrl}${path}/files/${sha256Of(file.bytes)}/${file.fileName}.provenance`;
      assert.equal(listed.find(({ filename }) => filename === file.fileName)?.provenance, url);
      assert.ok(html.includes(`data-provenance="${url}"`), html);
      const answer = await get(new URL(url).pathname);
      must(answer);
      assert.equal(answer.headers["content-type"], "application/vnd.pypi.integrity.v1+json");
      const publisher = { kind: "Holt", claims: null, identity: world.owner.uid };
      const bundles = (answer.json() as { attestation_bundles: { publisher: object; attestations: Attestation[] }[] }).attestation_bundles;
      assert.deepEqual(
        bundles.map((bundle) => bundle.publisher),
        [publisher],
      );
      const envelope = bundles[0]?.attestations[0]?.envelope as { statement: string };
      assert.equal(envelope.statement, (attestationOf(files[index]!).envelope as { statement: string }).statement);
      assert.equal((await get(new URL(url).pathname, { "if-none-match": answer.headers.etag ?? "" })).status, 304);
    }
    must(await publish(name, wheel({ version: "2.0" })));
    assert.equal((await pageOf(path)).files.find(({ filename }) => filename.includes("2.0"))?.provenance, undefined);
  });

  test("attestations can be added to a published file, each once", async () => {
    const { group, name, path } = await library();
    const file = wheel();
    must(await publish(name, file));
    const seq = await lastSeq(world);
    const one = attestationOf(file);
    const publisher = as((await world.robot(group, [LIST, CREATE])).token);
    const other = attestationOf(file, { predicateType: "https://slsa.dev/provenance/v1", predicate: { builder: "b" } });
    assert.match((await publish(name, file, [one])).body.toString(), /attestations were added/);
    assert.match((await publish(name, file, [one])).body.toString(), /already published/);
    must(await publish(name, file, [one, other], publisher));
    const [provenance] = (await pageOf(path)).files.map((each) => each.provenance);
    const { attestation_bundles: bundles } = (await get(new URL(provenance ?? "").pathname)).json() as {
      attestation_bundles: { attestations: unknown[] }[];
    };
    assert.deepEqual(
      bundles.map(({ attestations }) => attestations),
      [[one], [other]],
    );
    const types = (await eventsAfter(world, seq)).map(({ type }) => type).filter((type) => type.includes("libraries"));
    assert.deepEqual(
      types.map((type) => type.replace(/^.*\.(?=libraries)/, "")),
      ["libraries.attest.v1", "libraries.attest.v1"],
    );
    // A file with its attestations can be deleted.
    must(await owner().send("DELETE", `${path}/simple/demo/1.0/`), 204);
  });

  test("an attestation that is malformed, about another file or falsely signed is refused, and nothing is stored", async () => {
    const { name, path } = await library();
    const file = wheel();
    const good = attestationOf(file);
    const { envelope, verification_material: material } = good;
    const signature = Buffer.from(envelope.signature as string, "base64");
    signature[signature.length - 1]! ^= 1;
    const otherCertificate = attestationOf(file, {}, "p384").verification_material;
    const deep = Buffer.from(`{"_type":${"[".repeat(5000)}${"]".repeat(5000)}}`);
    const bad: readonly (readonly [attestations: unknown, reason: RegExp])[] = [
      [{}, /JSON array/],
      [[], /JSON array/],
      [Array(11).fill(good), /1 to 10/],
      [["x"], /attestation 1 must be a JSON object/],
      [[good, { ...good, version: 2 }], /attestation 2 must have version 1/],
      [[{ ...good, verification_material: undefined }], /verification_material/],
      [[{ ...good, verification_material: { ...material, transparency_entries: [] } }], /transparency_entries/],
      [[{ ...good, verification_material: { ...material, certificate: "AAAA" } }], /no valid certificate/],
      [[{ ...good, verification_material: { ...material, certificate: "no base64" } }], /base64/],
      [[{ ...good, verification_material: otherCertificate }], /P-256/],
      [[{ ...good, envelope: { ...envelope, signature: signature.toString("base64") } }], /signature/],
      [[{ ...good, envelope: { ...envelope, statement: "" } }], /base64/],
      [[signedStatement(Buffer.from("no json"))], /JSON/],
      [[signedStatement(deep)], /nested too deep/],
      [[attestationOf(file, { _type: "https://in-toto.io/Statement/v0.1" })], /must be of type/],
      [[attestationOf(file, { predicateType: "https://example.com/" })], /predicate types/],
      [[attestationOf(file, { subject: [] })], /one subject/],
      [[attestationOf(wheel({ version: "1.1" }))], /another file/],
      [[attestationOf({ ...file, fileName: file.fileName.replace("py3", "py2") })], /another file/],
      [[attestationOf({ ...file, bytes: Buffer.from("other") })], /other bytes/],
    ];
    for (const [attestations, reason] of bad) {
      const answer = await publish(name, file, attestations);
      assert.equal(answer.status, 400, JSON.stringify(attestations).slice(0, 200));
      assert.match(answer.body.toString(), reason);
    }
    for (const text of ["[", `[${"[".repeat(60_000)}${"]".repeat(60_000)}]`, "x".repeat(128 * 1024 + 1)])
      must(await upload(owner(), name, file, { attestations: text }), 400);
    assert.equal((await get(`${path}/simple/demo/`)).status, 404);
    // Another spelling of the same file name is the same file.
    must(await publish(name, file, [attestationOf({ ...file, fileName: file.fileName.replace("demo", "Demo") })]));
  });

  test("a form with two fields of attestations, or one that is cut off, is refused", async () => {
    const { name } = await library();
    const file = wheel();
    const text = JSON.stringify([attestationOf(file)]);
    const whole = formOf(file, { attestations: text, other: text });
    const twice = Buffer.from(whole.toString("latin1").replace('name="other"', 'name="attestations"'), "latin1");
    const cut = whole.subarray(0, whole.indexOf("attestations") + 200);
    for (const body of [twice, cut])
      must(await owner().send("POST", `/libraries/python/${name}/`, { headers: { "content-type": FORM_TYPE }, body }), 400);
    must(await owner().send("POST", `/libraries/python/${name}/`, { headers: { "content-type": FORM_TYPE }, body: whole }));
  });

  test("the JSON API describes a project and its versions with the metadata of their files", async () => {
    const { name, path } = await library();
    const headers = [
      "Summary: Shows things",
      "Requires-Python: >=3.8",
      "Author: Somebody",
      "Classifier: A",
      "Classifier: B",
      "Requires-Dist: other>=1",
      "Project-URL: Source, https://code.example.com/demo",
      "Description-Content-Type: text/markdown",
    ];
    const old = await sdist({ headers, description: "not stored" });
    const built = wheel({ version: "2.0", headers, description: "# Demo\n" });
    for (const file of [old, built, wheel({ version: "3.0rc1" })]) must(await publish(name, file));
    const answer = await get(`${path}/pypi/Demo/json`);
    must(answer);
    assert.equal(answer.headers["content-type"], "application/json");
    const page = answer.json() as {
      info: Record<string, unknown>;
      releases: Record<string, Record<string, unknown>[]>;
      urls: Record<string, unknown>[];
      vulnerabilities: unknown;
    };
    const { info } = page;
    assert.deepEqual(
      [info.name, info.version, info.summary, info.author, info.requires_python, info.description, info.description_content_type],
      ["demo", "2.0", "Shows things", "Somebody", ">=3.8", "# Demo\n", "text/markdown"],
    );
    assert.deepEqual([info.classifiers, info.requires_dist], [["A", "B"], ["other>=1"]]);
    assert.deepEqual([info.project_urls, info.yanked], [{ Source: "https://code.example.com/demo" }, false]);
    assert.deepEqual(Object.keys(page.releases), ["1.0", "2.0", "3.0rc1"]);
    assert.deepEqual(page.releases["2.0"], page.urls);
    const [file] = page.urls;
    const { upload_time, upload_time_iso_8601, ...rest } = file ?? {};
    assert.match(String(upload_time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
    assert.match(String(upload_time_iso_8601), /Z$/);
    assert.deepEqual(rest, {
      comment_text: "",
      digests: { md5: rest.md5_digest, sha256: sha256Of(built.bytes) },
      downloads: -1,
      filename: built.fileName,
      has_sig: false,
      md5_digest: rest.md5_digest,
      packagetype: "bdist_wheel",
      python_version: "py3",
      requires_python: ">=3.8",
      size: built.bytes.length,
      url: `${world.baseUrl}${path}/files/${sha256Of(built.bytes)}/${built.fileName}`,
      yanked: false,
      yanked_reason: null,
    });
    assert.deepEqual(page.vulnerabilities, []);
    const version = (await get(`${path}/pypi/demo/1.0.0/json`)).json() as { info: Record<string, unknown>; releases?: unknown };
    assert.deepEqual([version.info.version, version.info.author, version.info.description], ["1.0", "Somebody", ""]);
    assert.equal(version.releases, undefined);
    assert.equal((await get(`${path}/pypi/demo/json`, { "if-none-match": answer.headers.etag ?? "" })).status, 304);
    must(await owner().send("POST", `${path}/simple/demo/2.0/yank`), 204);
    assert.equal(((await get(`${path}/pypi/demo/json`)).json() as { info: { version: string } }).info.version, "1.0");
    for (const missing of ["pypi/other/json", "pypi/demo/9.9/json", "pypi/demo/x%20y/json", "pypi/%20/json", "pypi/demo/json/"])
      must(await get(`${path}/${missing}`), 404);
    must(await owner().send("POST", `${path}/pypi/demo/json`), 405);
  });
});

describe("Python pages after the URL of the server has changed", () => {
  test("a cached page is fetched anew, because it has absolute links", async () => {
    await using folder = await temporaryFolder();
    const env = { HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: await createDatabase() };
    const pages = ["simple/demo/", "pypi/demo/json"].map((page) => `/libraries/python/my-org/${page}`);
    const tags: unknown[][] = [];
    for (let run = 0; run < 2; run++) {
      // Each server has a port of its own in its URL.
      await using server = await startServer({ store: "postgres", env });
      using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
      if (tags.length === 0) assert.equal((await upload(client, "my-org", wheel())).status, 200);
      const answers = await Promise.all(pages.map((page) => client.send("GET", page)));
      tags.push(answers.map(({ headers }) => headers.etag));
      const known = await Promise.all(
        pages.map((page, i) => client.send("GET", page, { headers: { "if-none-match": String(tags[0]?.[i]) } })),
      );
      assert.deepEqual(
        known.map(({ status }) => status),
        tags.length === 1 ? [304, 304] : [200, 200],
      );
    }
  });
});
