/** Tests which attestations of Python files the server calls verified: those by an identity that the group trusts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SignatureState } from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import { type PythonAttestation, PythonProjectsService } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { SignatureIdentitiesService } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { type Attestation, attestationOf } from "../harness/libraries/attestations.ts";
import { type PythonFile, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { createSigstore, ISSUER, type SigningOptions, SUBJECT, writeTrustedRoot } from "../harness/sigstore.ts";
import { describeWithWorld, startWorld, type World } from "../harness/world.ts";

const { listPythonAttestations, listPythonProjects } = PythonProjectsService.method;
const { VERIFIED, UNVERIFIED, INVALID } = SignatureState;
const PREDICATE = "https://docs.pypi.org/attestations/publish/v1";
const sigstore = await createSigstore();
const env = { HOLT_SIGSTORE_TRUSTED_ROOT: writeTrustedRoot(sigstore.trustedRoot) };

async function keylessAttestation({ fileName, bytes }: PythonFile, options: SigningOptions = {}): Promise<Attestation> {
  const subject = [{ name: fileName, digest: { sha256: sha256Of(bytes) } }];
  const text = JSON.stringify({ _type: "https://in-toto.io/Statement/v1", subject, predicateType: PREDICATE, predicate: null });
  const { certificate, signature, logEntry } = await sigstore.signStatement(text, options);
  return {
    version: 1,
    verification_material: { certificate, transparency_entries: [logEntry] },
    envelope: { statement: Buffer.from(text).toString("base64"), signature },
  };
}

interface Project {
  readonly group: string;
  readonly uid: string;
}

async function publish(world: World, name: string, files: readonly (readonly [PythonFile, readonly Attestation[]])[]): Promise<Project> {
  const group = await world.group(world.orgUid, name);
  using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
  for (const [file, attestations] of files) {
    const answer = await upload(client, `my-org:${name}`, file, { attestations: JSON.stringify(attestations) });
    assert.equal(answer.status, 200, answer.body.toString());
  }
  const { pythonProjects } = await world.must(listPythonProjects, { uidp: { childrenOf: group } });
  return { group, uid: pythonProjects[0]?.uid ?? assert.fail("no project") };
}

async function trust(world: World, parent: string): Promise<string> {
  const signatureIdentity = { name: "release", issuer: ISSUER, sub: { case: "subject", value: SUBJECT } } as const;
  return (await world.must(SignatureIdentitiesService.method.createSignatureIdentity, { parent, signatureIdentity })).uid;
}

describeWithWorld(
  "attestations of Python files",
  (world) => {
    test("an attestation is verified by an identity of the group, and its reason says why another is not", async () => {
      const file = wheel();
      const attestations = [
        await keylessAttestation(file),
        await keylessAttestation(file, { subject: `${SUBJECT}2` }),
        await keylessAttestation(file, { isLate: true }),
        attestationOf(file),
      ];
      const { uid } = await publish(world, "attested", [[file, attestations]]);
      const list = async () => (await world.must(listPythonAttestations, { uid })).attestations;
      assert.deepEqual(
        (await list()).map(({ state }) => state),
        [UNVERIFIED, UNVERIFIED, UNVERIFIED, INVALID],
      );
      const identity = await trust(world, world.orgUid);
      const [own, other, late, selfSigned] = await list();
      assert.deepEqual(facts(own), [file.fileName, world.owner.uid, PREDICATE, VERIFIED, "", identity, "release", ISSUER, SUBJECT]);
      assert.deepEqual([other?.state, other?.certificateSubject, other?.signatureIdentity], [UNVERIFIED, `${SUBJECT}2`, ""]);
      assert.match(other?.reason ?? "", /no signature identity/);
      assert.deepEqual([late?.state, late?.certificateSubject], [UNVERIFIED, ""]);
      assert.match(late?.reason ?? "", /expired/);
      assert.match(selfSigned?.reason ?? "", /not a valid Sigstore bundle/);
    });

    test("the files of a project are listed in pages, or one by its name", async () => {
      const files = ["1.0", "2.0", "3.0"].map((version) => wheel({ version }));
      const withAttestations = await Promise.all(files.map(async (file) => [file, [await keylessAttestation(file)]] as const));
      const { uid } = await publish(world, "paged", withAttestations);
      const names: string[] = [];
      for (let pageToken = ""; ; ) {
        const page = await world.must(listPythonAttestations, { uid, pageSize: 2, pageToken });
        names.push(...page.attestations.map(({ fileName }) => fileName));
        pageToken = page.nextPageToken;
        if (pageToken === "") break;
      }
      assert.deepEqual(
        names,
        files.map(({ fileName }) => fileName),
      );
      const { attestations, nextPageToken } = await world.must(listPythonAttestations, { uid, fileName: files[1]?.fileName ?? "" });
      assert.deepEqual([attestations.map(({ fileName }) => fileName), nextPageToken], [[files[1]?.fileName], ""]);
      assert.deepEqual((await world.must(listPythonAttestations, { uid, fileName: "other.whl" })).attestations, []);
    });

    test("attestations are listed for callers who may list the libraries of the group", async () => {
      const { group, uid } = await publish(world, "guarded", [[wheel(), [await keylessAttestation(wheel())]]]);
      const reader = await world.robot(group, [Capability.CAP_LIBRARIES_PYTHON_LIST]);
      assert.equal((await world.must(listPythonAttestations, { uid }, reader.token)).attestations.length, 1);
      const other = await world.robot(group, [Capability.CAP_REPO_LIST]);
      assert.equal(codeOf(await world.rest.call(listPythonAttestations, { uid }, other.token)), Code.PERMISSION_DENIED);
      const missing = { uid: `${group}/0123456789abcdef` };
      assert.equal(codeOf(await world.rest.call(listPythonAttestations, missing, world.token)), Code.NOT_FOUND);
    });
  },
  { env },
);

test("without a trusted root no attestation is verified", async () => {
  await using world = await startWorld();
  await trust(world, world.orgUid);
  const { uid } = await publish(world, "attested", [[wheel(), [await keylessAttestation(wheel())]]]);
  const { attestations } = await world.must(listPythonAttestations, { uid });
  assert.deepEqual(
    attestations.map(({ state }) => state),
    [UNVERIFIED],
  );
  assert.match(attestations[0]?.reason ?? "", /no trusted root/);
});

function facts(attestation: PythonAttestation | undefined): readonly unknown[] {
  const { fileName, publisher, predicateType, state, reason, signatureIdentity, signatureIdentityName, ...certificate } =
    attestation ?? assert.fail("no attestation");
  const { certificateIssuer, certificateSubject } = certificate;
  const signer = [signatureIdentity, signatureIdentityName, certificateIssuer, certificateSubject];
  return [fileName, publisher, predicateType, state, reason, ...signer];
}
