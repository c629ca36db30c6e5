/** Tests architectures, sizes, configs and SBOMs of pushed images in version 1 of the API, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ImagesService } from "@holt/api/gen/platform/registry/v2/images_pb.ts";
import { ComponentGraph_Edge_TypeSchema, type Sbom2, Sbom2_Source } from "@holt/api/gen/platform/tenant/v1/sboms_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { APK, apkDatabase, envelope, layerOf, spdx, statement } from "../harness/registry/image-content.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import { CONFIG, type Descriptor, LAYER, MANIFEST } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const { getArchs, getSize, getImageConfig, getSbom, getRawSbom } = Registry.method;
const SPDX = "application/spdx+json";
const CYCLONE_DX = "application/vnd.cyclonedx+json";
const IN_TOTO = "application/vnd.in-toto+json";
const UNKNOWN = `sha256:${"2".repeat(64)}`;

const SPDX_DOCUMENT = {
  spdxVersion: "SPDX-2.3",
  SPDXID: "SPDXRef-DOCUMENT",
  name: "app",
  comment: "An image.",
  creationInfo: { created: "2026-01-02T03:04:05Z", creators: ["Tool: syft-1.2", "Organization: Example", "Person: Ann"] },
  documentDescribes: ["SPDXRef-image"],
  packages: [
    { SPDXID: "SPDXRef-image", name: "app", versionInfo: "1", licenseConcluded: "NOASSERTION", licenseDeclared: "NONE" },
    {
      SPDXID: "SPDXRef-musl",
      name: "musl",
      versionInfo: "1.2.5-r9",
      licenseDeclared: "MIT",
      description: "libc",
      externalRefs: [{ referenceType: "purl", referenceLocator: "pkg:apk/alpine/musl@1.2.5-r9" }],
    },
  ],
  files: [{ SPDXID: "SPDXRef-file", fileName: "/lib/libc.so", fileTypes: ["BINARY"] }],
  relationships: [
    { spdxElementId: "SPDXRef-image", relationshipType: "CONTAINS", relatedSpdxElement: "SPDXRef-musl" },
    { spdxElementId: "SPDXRef-musl", relationshipType: "DEPENDENCY_OF", relatedSpdxElement: "SPDXRef-image" },
    { spdxElementId: "SPDXRef-file", relationshipType: "OTHER", relatedSpdxElement: "SPDXRef-musl" },
    { spdxElementId: "SPDXRef-file", relationshipType: "DEPENDS_ON", relatedSpdxElement: "NONE" },
  ],
};

describeWithWorld("contents of images in version 1", (world) => {
  let repo: ImageRepo;
  before(async () => {
    repo = await createImageRepo(world);
  });
  after(() => repo[Symbol.dispose]());

  const both = async (check: (client: (typeof world.clients)[number]) => Promise<void>) => {
    for (const client of world.clients) await check(client);
  };
  const attach = (subject: Descriptor, content: string, mediaType: string) =>
    repo.pushArtifact([[content, mediaType]], { subject, artifactType: mediaType });
  const image = async (architecture = "amd64") => repo.push([await layerOf({ [APK]: apkDatabase("musl 1.2.5-r9") })], { architecture });
  const sbomOf = (digest: string, arch = "") => world.must(getSbom, { repoId: repo.uid, digest, arch });
  const edgesOf = ({ graph }: Sbom2) =>
    (graph?.edges ?? []).map(
      ({ subjectId, type, predicateId }) => `${subjectId} ${ComponentGraph_Edge_TypeSchema.value[type]?.name} ${predicateId}`,
    );
  const namesOf = ({ graph }: Sbom2) => (graph?.nodes ?? []).map(({ typedNode }) => typedNode.value?.name);

  test("architectures and sizes agree with version 2", async () => {
    const children = [await image("arm64"), await image("amd64")];
    const { digest } = await repo.pushIndex(children);
    const { architectures } = await world.must(ImagesService.method.getArchitectures, { repoUid: repo.uid, digest });
    const { size } = await world.must(ImagesService.method.getSize, { repoUid: repo.uid, digest, architecture: "arm64" });
    await both(async (client) => {
      const { archs } = answerOf(await client.call(getArchs, { repoId: repo.uid, digest }, world.token));
      assert.deepEqual([archs, archs], [["amd64", "arm64"], architectures]);
      const answer = answerOf(await client.call(getSize, { repoId: repo.uid, digest, arch: "arm64" }, world.token));
      assert.deepEqual([answer.size, answer.arch], [size, "arm64"]);
      assert.equal(answerOf(await client.call(getSize, { repoId: repo.uid, digest }, world.token)).arch, "amd64");
      for (const request of [
        { repoId: repo.uid, digest: UNKNOWN },
        { repoId: repo.uid, digest, arch: "s390x" },
      ]) {
        const error = errorOf(await client.call(getSize, request, world.token));
        assert.equal(error.code, Code.NOT_FOUND);
        assert.match(JSON.stringify(error.details), /"resourceType":"[^"]*Image"/);
      }
    });
  });

  test("the config of an image is read from what was pushed, by architecture for an index", async () => {
    const push = async (architecture: string, config: unknown) => {
      const content = JSON.stringify({ os: "linux", architecture, config });
      const layer = await repo.client.blob(repo.name, await layerOf({ a: architecture }), LAYER);
      const blob = await repo.client.blob(repo.name, content, CONFIG);
      return repo.client.manifest(repo.name, { schemaVersion: 2, mediaType: MANIFEST, config: blob, layers: [layer] });
    };
    const full = {
      User: "65532",
      ExposedPorts: { "80/tcp": {}, __proto__: {} },
      Env: ["PATH=/bin", 7],
      Entrypoint: ["/bin/app"],
      Cmd: null,
      Volumes: { "/data": {} },
      WorkingDir: "/home",
      Labels: { a: "b", c: 1 },
      StopSignal: "SIGTERM",
      Unknown: {},
    };
    const amd = await push("amd64", full);
    const arm = await push("arm64", null);
    const { digest } = await repo.pushIndex([amd, arm]);
    for (const request of [{ digest: amd.digest }, { digest }, { digest, arch: "amd64", registry: true }]) {
      await both(async (client) => {
        const { $typeName: _, ...config } = answerOf(await client.call(getImageConfig, { repoId: repo.uid, ...request }, world.token));
        assert.deepEqual(
          { ...config, exposedPorts: Object.keys(config.exposedPorts), volumes: Object.keys(config.volumes) },
          {
            user: "65532",
            exposedPorts: ["80/tcp"],
            env: ["PATH=/bin"],
            entrypoint: ["/bin/app"],
            cmd: [],
            volumes: ["/data"],
            workingDir: "/home",
            labels: { a: "b", c: "" },
            stopSignal: "SIGTERM",
          },
        );
      });
    }
    const empty = await world.raw("GET", `/registry/v1/repos/${repo.uid}/digests/${digest}/imageconfig?arch=arm64`);
    assert.equal(
      empty.text,
      '{"user":"","exposedPorts":{},"env":[],"entrypoint":[],"cmd":[],"volumes":{},"workingDir":"","labels":{},"stopSignal":""}',
    );
    await both(async (client) => {
      for (const request of [{ digest: UNKNOWN }, { digest: "latest" }, { digest, arch: "s390x" }])
        assert.equal(codeOf(await client.call(getImageConfig, { repoId: repo.uid, ...request }, world.token)), Code.NOT_FOUND);
    });
  });

  test("an SPDX document that is attached to an image is answered as a graph and as it was pushed", async () => {
    const { digest, ...rest } = await image();
    const text = JSON.stringify(SPDX_DOCUMENT);
    const attached = await attach({ digest, ...rest }, text, SPDX);
    await both(async (client) => {
      const sbom = answerOf(await client.call(getSbom, { repoId: repo.uid, digest }, world.token));
      assert.deepEqual(
        [sbom.name, sbom.description, sbom.tool, sbom.authors, sbom.format, sbom.source, sbom.digest],
        ["app", "An image.", "syft-1.2", "Example, Ann", "SPDX-2.3", Sbom2_Source.INGESTED, digest],
      );
      assert.equal(sbom.generatedAt?.seconds, BigInt(Date.parse("2026-01-02T03:04:05Z") / 1000));
      assert.ok(sbom.lastSeen);
      assert.match(sbom.id, /^sha256:[0-9a-f]{64}$/);
      assert.equal(Buffer.from(sbom.rawSbom).toString(), text);
      assert.deepEqual(edgesOf(sbom), [
        "SPDXRef-image CONTAINS SPDXRef-musl",
        "SPDXRef-image DEPENDS_ON SPDXRef-musl",
        "SPDXRef-file UNKNOWN SPDXRef-musl",
        "SPDXRef-DOCUMENT DESCRIBES SPDXRef-image",
      ]);
      assert.deepEqual(namesOf(sbom), ["app", "musl", "/lib/libc.so"]);
      const [own, musl, file] = (sbom.graph?.nodes ?? []).map(({ typedNode }) => typedNode.value);
      assert.deepEqual(own && "license" in own && own.license, "");
      const { $typeName: _, ...fields } = musl ?? assert.fail();
      assert.deepEqual(fields, {
        id: "SPDXRef-musl",
        name: "musl",
        version: "1.2.5-r9",
        license: "MIT",
        description: "libc",
        purl: "pkg:apk/alpine/musl@1.2.5-r9",
      });
      assert.deepEqual(file && "types" in file && file.types, ["BINARY"]);
      for (const reference of ["", attached.digest, sbom.id])
        assert.equal(answerOf(await client.call(getRawSbom, { repoId: repo.uid, digest, reference }, world.token)).rawSbom, text);
      assert.equal(codeOf(await client.call(getRawSbom, { repoId: repo.uid, digest, reference: UNKNOWN }, world.token)), Code.NOT_FOUND);
    });
  });

  test("a CycloneDX document in a statement, a later SBOM and cosign's tags are read", async () => {
    const subject = await image();
    const document = {
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      serialNumber: "urn:uuid:1",
      metadata: {
        timestamp: "not a time",
        tools: { components: [{ name: "trivy", version: "0.70" }] },
        authors: [{ name: "Ann" }],
        component: { "bom-ref": "root", type: "container", name: "app", description: "An image." },
      },
      components: [
        {
          "bom-ref": "a",
          type: "library",
          group: "org.slf4j",
          name: "slf4j",
          version: "2",
          licenses: [{ license: { id: "MIT" } }, { license: { name: "Other" } }],
          components: [{ type: "library", name: "inner", purl: "pkg:npm/inner@1" }],
        },
        { "bom-ref": "f", type: "file", name: "/a" },
      ],
      dependencies: [{ ref: "root", dependsOn: ["a", 1, "f"] }],
    };
    const attested = envelope(statement("https://cyclonedx.org/bom", document, subject.digest));
    await repo.pushArtifact([[attested, "application/vnd.dsse.envelope.v1+json"]], {}, `${subject.digest.replace(":", "-")}.att`);
    const sbom = await sbomOf(subject.digest);
    assert.deepEqual(
      [sbom.name, sbom.description, sbom.tool, sbom.authors, sbom.format, sbom.generatedAt],
      ["app", "An image.", "trivy-0.70", "Ann", "CycloneDX-1.6", undefined],
    );
    assert.deepEqual(namesOf(sbom), ["app", "org.slf4j/slf4j", "inner", "/a"]);
    assert.deepEqual(edgesOf(sbom), ["urn:uuid:1 DESCRIBES root", "a CONTAINS pkg:npm/inner@1", "root DEPENDS_ON a", "root DEPENDS_ON f"]);
    const [, slf4j] = (sbom.graph?.nodes ?? []).map(({ typedNode }) => typedNode.value);
    assert.equal(slf4j && "license" in slf4j && slf4j.license, "MIT AND Other");
    const raw = await world.must(getRawSbom, { repoId: repo.uid, digest: subject.digest });
    assert.deepEqual(JSON.parse(raw.rawSbom), document);
  });

  test("an SBOM of SPDX 3 is answered as a graph", async () => {
    const subject = await image();
    const graph = [
      { type: "CreationInfo", "@id": "_:c", specVersion: "3.0.1", created: "2026-01-02T03:04:05Z", createdBy: ["p"], createdUsing: ["t"] },
      { type: "Person", spdxId: "p", name: "Ann", creationInfo: "_:c" },
      { type: "Tool", spdxId: "t", name: "builder", creationInfo: "_:c" },
      { type: "SpdxDocument", spdxId: "d", name: "app", creationInfo: "_:c", rootElement: ["a"] },
      { type: "software_Package", spdxId: "a", name: "app", software_packageVersion: "1", software_packageUrl: "pkg:oci/app@1" },
      { type: "software_File", spdxId: "f", name: "/a", software_primaryPurpose: "executable" },
      { type: "Relationship", spdxId: "r", from: "a", to: ["f"], relationshipType: "contains" },
      { type: "Relationship", spdxId: "s", from: "f", to: ["a"], relationshipType: "generates" },
      { type: "Relationship", spdxId: "l", from: "a", to: ["m"], relationshipType: "hasDeclaredLicense" },
      { type: "simplelicensing_LicenseExpression", spdxId: "m", simplelicensing_licenseExpression: "MIT" },
    ];
    await attach(subject, JSON.stringify({ "@context": "x", "@graph": graph }), SPDX);
    const sbom = await sbomOf(subject.digest);
    assert.deepEqual([sbom.name, sbom.tool, sbom.authors, sbom.format], ["app", "builder", "Ann", "SPDX-3.0.1"]);
    assert.deepEqual(edgesOf(sbom), ["d DESCRIBES a", "a CONTAINS f", "a GENERATED_FROM f"]);
    const [app] = (sbom.graph?.nodes ?? []).map(({ typedNode }) => typedNode.value);
    assert.deepEqual(app && "license" in app && [app.license, app.version], ["MIT", "1"]);
  });

  test("an index answers the SBOM of an architecture, of its own, or of the default image, as BuildKit attaches them", async () => {
    const [amd, arm] = [await image("amd64"), await image("arm64")];
    const attested = async (subject: Descriptor, name: string) => {
      const provenance = statement("https://slsa.dev/provenance/v1", {}, subject.digest);
      const sbom = statement("https://spdx.dev/Document", { ...SPDX_DOCUMENT, name }, subject.digest);
      const manifest = await repo.pushArtifact([
        [provenance, IN_TOTO],
        [sbom, IN_TOTO],
      ]);
      const annotations = { "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": subject.digest };
      return { ...manifest, platform: { architecture: "unknown", os: "unknown" }, annotations };
    };
    const index = await repo.pushIndex([amd, arm, await attested(amd, "of amd64"), await attested(arm, "of arm64")]);
    assert.equal((await sbomOf(index.digest)).name, "of amd64");
    const ofArm = await sbomOf(index.digest, "arm64");
    assert.deepEqual([ofArm.name, ofArm.digest], ["of arm64", arm.digest]);
    assert.equal((await sbomOf(arm.digest)).name, "of arm64");
    await attach(index, JSON.stringify({ ...SPDX_DOCUMENT, name: "of the index" }), SPDX);
    assert.equal((await sbomOf(index.digest)).name, "of the index");
    assert.equal((await sbomOf(index.digest, "arm64")).name, "of arm64");
  });

  test("an image without an SBOM, and attachments that are not SBOMs, are not found or refused", async () => {
    const subject = await image();
    const codes = async (digest: string) =>
      Promise.all(world.clients.map(async (client) => codeOf(await client.call(getSbom, { repoId: repo.uid, digest }, world.token))));
    assert.deepEqual(await codes(subject.digest), [Code.NOT_FOUND, Code.NOT_FOUND]);
    assert.deepEqual(await codes(UNKNOWN), [Code.NOT_FOUND, Code.NOT_FOUND]);
    assert.deepEqual(await codes("latest"), [Code.NOT_FOUND, Code.NOT_FOUND]);
    await attach(subject, statement("https://slsa.dev/provenance/v1", {}, subject.digest), IN_TOTO);
    assert.deepEqual(await codes(subject.digest), [Code.NOT_FOUND, Code.NOT_FOUND]);
    for (const content of ["not JSON", "[]", "{}", statement("https://spdx.dev/Document", SPDX_DOCUMENT, UNKNOWN)]) {
      const other = await image();
      await attach(other, content, content.startsWith("{") && content !== "{}" ? IN_TOTO : SPDX);
      assert.deepEqual(await codes(other.digest), [Code.FAILED_PRECONDITION, Code.FAILED_PRECONDITION], content);
    }
  });

  test("an SBOM that is too large to read is refused, and a large one leaves the document out of the graph's answer", async () => {
    const large = await image();
    const packages = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        SPDXID: `SPDXRef-${i}`,
        name: `package-${i}`,
        versionInfo: "1",
        comment: "x".repeat(300),
      }));
    await attach(large, JSON.stringify({ ...SPDX_DOCUMENT, packages: packages(4000) }), SPDX);
    const sbom = await sbomOf(large.digest);
    assert.deepEqual([sbom.rawSbom.length, sbom.graph?.nodes.length], [0, 4001]);
    assert.ok((await world.must(getRawSbom, { repoId: repo.uid, digest: large.digest })).rawSbom.length > 1024 * 1024);
    const huge = await image();
    await attach(huge, JSON.stringify({ ...SPDX_DOCUMENT, comment: "x".repeat(9 * 1024 * 1024) }), SPDX);
    const refusal = errorOf(await world.rest.call(getSbom, { repoId: repo.uid, digest: huge.digest }, world.token));
    assert.equal(refusal.code, Code.FAILED_PRECONDITION);
    assert.match(refusal.message, /larger than 8 MiB/);
  });

  test("what is attached to an image in another repository is not answered", async () => {
    const subject = await image();
    await attach(subject, spdx("pkg:npm/a@1"), CYCLONE_DX);
    using other = await createImageRepo(world);
    const refusal = await world.rest.call(getSbom, { repoId: other.uid, digest: subject.digest }, world.token);
    assert.equal(codeOf(refusal), Code.NOT_FOUND);
  });
});
