/** Tests which signatures with short-lived certificates the server calls verified: those by an identity that the group trusts. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { ImageReferrersService, type ImageSignature, SignatureState } from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import { SignatureIdentitiesService } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { codeOf } from "../harness/clients.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import { type Descriptor, digestOf, MANIFEST } from "../harness/registry/registry-client.ts";
import {
  bundleOfBytes,
  bundleOfStatement,
  cosignAnnotations,
  createSigstore,
  ISSUER,
  SUBJECT,
  writeTrustedRoot,
} from "../harness/sigstore.ts";
import { describeWithWorld, startWorld } from "../harness/world.ts";

const SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json";
const ENVELOPE = "application/vnd.dsse.envelope.v1+json";
const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
const SPDX = "https://spdx.dev/Document";
const { VERIFIED, UNVERIFIED, INVALID } = SignatureState;
const { createSignatureIdentity, deleteSignatureIdentity } = SignatureIdentitiesService.method;
const { listImageReferrers } = ImageReferrersService.method;

interface SignedLayer {
  readonly mediaType: string;
  readonly content: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const sigstore = await createSigstore();
const stranger = await createSigstore();
const env = { HOLT_SIGSTORE_TRUSTED_ROOT: writeTrustedRoot(sigstore.trustedRoot) };

const exactly = (value: string) => ({ sub: { case: "subject", value } }) as const;
const matching = (value: string) => ({ sub: { case: "subjectPattern", value } }) as const;
const payloadOf = (digest: string) =>
  JSON.stringify({ critical: { image: { "docker-manifest-digest": digest }, type: "cosign container image signature" } });

function statementAbout(digest: string): string {
  const subject = [{ name: "image", digest: { sha256: digest.slice("sha256:".length) } }];
  return JSON.stringify({ _type: "https://in-toto.io/Statement/v1", subject, predicateType: SPDX, predicate: {} });
}

const bundleLayer = (bundle: object): SignedLayer => ({ mediaType: BUNDLE, content: JSON.stringify(bundle) });

async function simpleLayer(digest: string, options = {}, by = sigstore): Promise<SignedLayer> {
  const content = payloadOf(digest);
  return { mediaType: SIMPLE, content, annotations: cosignAnnotations(await by.signBytes(Buffer.from(content), options)) };
}

async function statementLayer(digest: string, options = {}, by = sigstore): Promise<SignedLayer> {
  const statement = statementAbout(digest);
  return bundleLayer(bundleOfStatement(statement, await by.signStatement(statement, options)));
}

describeWithWorld(
  "keyless signatures of images",
  (world) => {
    let group: string;
    let repo: ImageRepo;
    let identityUid: string;
    before(async () => {
      group = await world.group(world.orgUid, "signed");
      repo = await createImageRepo(world, world.owner.token, group);
      identityUid = await trust(world.orgUid, "release", exactly(SUBJECT));
    });

    async function trust(parent: string, name: string, identity: ReturnType<typeof exactly | typeof matching>): Promise<string> {
      return (await world.must(createSignatureIdentity, { parent, signatureIdentity: { name, issuer: ISSUER, ...identity } })).uid;
    }

    /** The manifest that an image's push uploaded. */
    async function manifestOf({ digest }: Descriptor): Promise<Buffer> {
      return (await repo.client.send("GET", `/v2/${repo.name}/manifests/${digest}`, { headers: { accept: MANIFEST } })).body;
    }

    async function checked({ content, mediaType, annotations }: SignedLayer, subject: Descriptor): Promise<ImageSignature> {
      const layer = { ...(await repo.client.blob(repo.name, content, mediaType)), ...(annotations && { annotations }) };
      const config = await repo.client.blob(repo.name, "{}", "application/vnd.oci.empty.v1+json");
      const manifest = { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer], artifactType: "application/example", subject };
      await repo.client.manifest(repo.name, manifest);
      const { referrers } = await world.must(listImageReferrers, { uid: repo.uid, digest: subject.digest });
      const signature = referrers[0]?.signatures[0] ?? assert.fail("no signature");
      assert.equal(referrers[0]?.state, signature.state);
      return signature;
    }

    test("cosign's signatures and attestations and Sigstore bundles are verified by the identity in their certificate", async () => {
      const image = await repo.push([]);
      const { digest } = image;
      const statement = statementAbout(digest);
      const attested = await sigstore.signStatement(statement);
      const manifest = await manifestOf(image);
      const cases: readonly (readonly [layer: SignedLayer, predicateType: string])[] = [
        [await simpleLayer(digest), ""],
        [
          {
            mediaType: ENVELOPE,
            content: JSON.stringify(bundleOfStatement(statement, attested).dsseEnvelope),
            annotations: { ...cosignAnnotations(attested), "dev.cosignproject.cosign/signature": "" },
          },
          SPDX,
        ],
        [bundleLayer(bundleOfStatement(statement, attested)), SPDX],
        [bundleLayer(bundleOfBytes(manifest, await sigstore.signBytes(manifest))), ""],
      ];
      for (const [layer, predicateType] of cases) {
        const found = await verdictOf(layer, image);
        assert.deepEqual(
          [found.state, found.reason, found.predicateType, found.signatureIdentity, found.signatureIdentityName, found.signatureKey],
          [VERIFIED, "", predicateType, identityUid, "release", ""],
        );
        assert.deepEqual([found.certificateIssuer, found.certificateSubject], [ISSUER, SUBJECT]);
      }
    });

    /** The signature in the layer, among all that the image has. */
    async function verdictOf(layer: SignedLayer, image: Descriptor): Promise<ImageSignature> {
      await checked(layer, image).catch(() => undefined);
      const { referrers } = await world.must(listImageReferrers, { uid: repo.uid, digest: image.digest });
      const digest = digestOf(layer.content);
      const found = referrers.flatMap(({ signatures }) => signatures).find((signature) => signature.digest === digest);
      return found ?? assert.fail("no signature");
    }

    test("a signature that the trusted root or the identities do not confirm is not verified, and its reason says why", async () => {
      const bundleWith = async (digest: string, change: (bundle: ReturnType<typeof bundleOfStatement>) => object) => {
        const statement = statementAbout(digest);
        return bundleLayer(change(bundleOfStatement(statement, await sigstore.signStatement(statement))));
      };
      const withEntries = (count: number) => (digest: string) =>
        bundleWith(digest, (bundle) => {
          const { certificate, tlogEntries } = bundle.verificationMaterial;
          const entries = Array.from({ length: count }, () => tlogEntries[0]);
          return { ...bundle, verificationMaterial: { certificate, tlogEntries: entries } };
        });
      const withLogName = (name: string) => (digest: string) =>
        bundleWith(
          digest,
          (bundle) => JSON.parse(JSON.stringify(bundle).replaceAll("\u2014 log.example.com ", `\u2014 ${name} `)) as object,
        );
      const withPayload = (digest: string) =>
        bundleWith(digest, (bundle) => {
          const payload = Buffer.from(statementAbout(digest).replace("{}", '{"a":1}')).toString("base64");
          return { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payload } };
        });
      const withBundle = (bundle: object) => async () => bundleLayer(bundle);
      const material = { certificate: { rawBytes: "AAAA" }, tlogEntries: [] };
      const envelope = { payload: "e30=", payloadType: "x", signatures: [{ sig: "AAAA" }] };
      const { certificatePem } = await sigstore.signBytes(Buffer.from("x"));
      const cases: readonly (readonly [SignatureState, RegExp, (digest: string) => Promise<SignedLayer>, isConfirmed?: boolean])[] = [
        [UNVERIFIED, /no signature identity/, (digest) => simpleLayer(digest, { issuer: "https://evil.example.com" }), true],
        [UNVERIFIED, /no signature identity/, (digest) => simpleLayer(digest, { subject: `${SUBJECT}2` }), true],
        [UNVERIFIED, /no signature identity/, (digest) => statementLayer(digest, { subject: "https://x.example.com" }), true],
        [UNVERIFIED, /expired/, (digest) => simpleLayer(digest, { isLate: true })],
        [UNVERIFIED, /expired/, (digest) => statementLayer(digest, { isLate: true })],
        [UNVERIFIED, /certificate path|certificate chain/, (digest) => simpleLayer(digest, {}, stranger)],
        [UNVERIFIED, /certificate path|certificate chain/, (digest) => statementLayer(digest, {}, stranger)],
        [UNVERIFIED, /expected 1 timestamps, got 0/, withEntries(0)],
        [UNVERIFIED, /duplicate timestamp/, withEntries(2)],
        [INVALID, /special characters/, withLogName("(l+)+x")],
        [INVALID, /more than 10 log entries/, withEntries(11)],
        [UNVERIFIED, /does not confirm/, withPayload],
        [
          UNVERIFIED,
          /expected 1 timestamps, got 0/,
          async (digest) => {
            const { "dev.sigstore.cosign/bundle": _, ...annotations } = (await simpleLayer(digest)).annotations ?? {};
            return { mediaType: SIMPLE, content: payloadOf(digest), annotations };
          },
        ],
        [UNVERIFIED, /does not confirm/, async (digest) => ({ ...(await simpleLayer(digest)), content: `${payloadOf(digest)} ` })],
        [INVALID, /another image/, async () => simpleLayer(digestOf("x")), true],
        [INVALID, /another image/, async () => statementLayer(digestOf("x")), true],
        [
          UNVERIFIED,
          /does not confirm/,
          async () => bundleLayer(bundleOfBytes(Buffer.from("x"), await sigstore.signBytes(Buffer.from("x")))),
        ],
        [INVALID, /PEM/, async (digest) => withAnnotations(digest, { "dev.sigstore.cosign/certificate": "AAAA" })],
        [INVALID, /not JSON/, async (digest) => withAnnotations(digest, { "dev.sigstore.cosign/bundle": "{" })],
        [INVALID, /no body/, async (digest) => withAnnotations(digest, { "dev.sigstore.cosign/bundle": "{}" })],
        [INVALID, /no logID/, async (digest) => withAnnotations(digest, { "dev.sigstore.cosign/bundle": '{"Payload":{"body":"e30="}}' })],
        [INVALID, /not a valid Sigstore bundle/, withBundle({ verificationMaterial: material, dsseEnvelope: envelope })],
        [INVALID, /not a valid Sigstore bundle/, withBundle({ mediaType: BUNDLE, verificationMaterial: material, dsseEnvelope: envelope })],
        [
          INVALID,
          /not a valid Sigstore bundle/,
          withBundle({
            mediaType: BUNDLE,
            verificationMaterial: { certificate: { rawBytes: Buffer.from(certificatePem).toString("base64") }, tlogEntries: [{}] },
            dsseEnvelope: envelope,
          }),
        ],
        [INVALID, /no signature/, withBundle({ mediaType: BUNDLE, verificationMaterial: material, messageSignature: {} })],
      ];
      async function withAnnotations(digest: string, changes: Record<string, string>): Promise<SignedLayer> {
        const layer = await simpleLayer(digest);
        return { ...layer, annotations: { ...layer.annotations, ...changes } };
      }
      for (const [index, [state, reason, make, isConfirmed = false]] of cases.entries()) {
        const image = await repo.push([]);
        const found = await checked(await make(image.digest), image);
        assert.match(found.reason, reason, `case ${index}`);
        assert.equal(found.state, state, `case ${index}: ${found.reason}`);
        assert.deepEqual([found.signatureIdentity, found.predicateType], ["", ""]);
        // Only a certificate that the trusted root confirms says anything about its signer.
        if (state === UNVERIFIED) assert.equal(found.certificateSubject !== "", isConfirmed, `case ${index}`);
        else assert.equal(found.certificateSubject, "");
      }
    });

    test("a pattern matches the whole subject, and an identity of another group or a deleted one verifies nothing", async () => {
      const subject = "https://git.example.com/other/tool.yaml@refs/tags/v1";
      const image = await repo.push([]);
      const layer = await statementLayer(image.digest, { subject });
      const subjectPattern = "https://git\\.example\\.com/other/[a-z.]+@refs/tags/v.*";
      await trust(await world.group(world.orgUid, "elsewhere"), "other group", matching(subjectPattern));
      await trust(group, "a part of it", matching("https://git\\.example\\.com/other/"));
      assert.equal((await checked(layer, image)).state, UNVERIFIED);
      const uid = await trust(group, "pattern", matching(subjectPattern));
      const list = async () => {
        const { referrers } = await world.must(listImageReferrers, { uid: repo.uid, digest: image.digest });
        return [referrers[0]?.state, referrers[0]?.signatures[0]?.signatureIdentity];
      };
      assert.deepEqual(await list(), [VERIFIED, uid]);
      await world.must(deleteSignatureIdentity, { uid });
      assert.deepEqual(await list(), [UNVERIFIED, ""]);
    });

    test("an identity needs an issuer, and either a subject or a pattern", async () => {
      const refused = [
        { issuer: "", ...exactly("a") },
        { issuer: "git.example.com", ...exactly("a") },
        { issuer: ISSUER },
        { issuer: ISSUER, ...exactly("a\nb") },
        { issuer: ISSUER, ...exactly("a".repeat(513)) },
        { issuer: ISSUER, ...matching("(") },
      ];
      for (const identity of refused) {
        const request = { parent: group, signatureIdentity: { name: "refused", ...identity } };
        assert.equal(codeOf(await world.rest.call(createSignatureIdentity, request, world.owner.token)), 3, JSON.stringify(identity));
      }
    });

    test("a group has a limited number of signature identities, and is not deleted while it has one", async () => {
      const folder = await world.group(world.orgUid, "full");
      for (let i = 0; i < 20; i++) await trust(folder, `identity ${i}`, exactly("a"));
      const request = { parent: folder, signatureIdentity: { name: "one more", issuer: ISSUER, ...exactly("a") } };
      assert.equal(codeOf(await world.rest.call(createSignatureIdentity, request, world.owner.token)), 9);
      const deleted = await world.raw("DELETE", `/iam/v2/groups/${folder}`);
      assert.equal(deleted.status, 400);
      assert.match(deleted.text, /signature identities/);
    });
  },
  { env },
);

test("a server does not start with a trusted root that is missing, malformed or empty", async () => {
  for (const path of ["/missing.json", ...["{", "[]", "{}", '{"certificateAuthorities":[{}]}'].map(writeTrustedRoot)])
    await assert.rejects(startWorld({ env: { HOLT_SIGSTORE_TRUSTED_ROOT: path } }), /HOLT_SIGSTORE_TRUSTED_ROOT: .* must be the path/);
});
