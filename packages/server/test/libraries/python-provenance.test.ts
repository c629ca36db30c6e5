/** Tests how attestations of Python files are stored and served, on both stores. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type Attestation, attestationOf, signedStatement } from "../harness/libraries/attestations.ts";
import { FORM_TYPE, formOf, sdist, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { createPythonProjects } from "../harness/libraries/python-projects.ts";
import { must } from "../harness/libraries/python-world.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { CAP_LIBRARIES_PYTHON_LIST: LIST, CAP_LIBRARIES_PYTHON_CREATE: CREATE } = Capability;

describeWithWorld("provenance of Python files", (world: World) => {
  const projects = createPythonProjects(world);
  const { as, owner, get, library, publish, pageOf, htmlOf } = projects;
  after(() => projects[Symbol.dispose]());

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
});
