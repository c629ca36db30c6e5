/** Tests which signatures of images the server calls verified: those by a key that the group or a group above trusts. */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { before, test } from "node:test";
import { type ImageReferrer, ImageReferrersService, SignatureState } from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import { SignatureKeysService } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { codeOf } from "../harness/clients.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import { type Descriptor, digestOf, MANIFEST } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json";
const ENVELOPE = "application/vnd.dsse.envelope.v1+json";
const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
const EMPTY = "application/vnd.oci.empty.v1+json";
const SPDX = "https://spdx.dev/Document";
const { VERIFIED, UNVERIFIED, INVALID, UNSIGNED } = SignatureState;

interface KeyPair {
  readonly privateKey: KeyObject;
  readonly pem: string;
}

const pairOf = ({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }): KeyPair => ({
  privateKey,
  pem: publicKey.export({ type: "spki", format: "pem" }) as string,
});
const ecKey = (namedCurve = "P-256") => pairOf(generateKeyPairSync("ec", { namedCurve }));

interface SignedLayer {
  readonly mediaType: string;
  readonly content: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function simpleSignature(digest: string, { privateKey }: KeyPair, hash: string | null = "sha256"): SignedLayer {
  const image = { "docker-manifest-digest": digest };
  const content = JSON.stringify({ critical: { identity: {}, image, type: "cosign container image signature" }, optional: null });
  const signature = sign(hash, Buffer.from(content), privateKey).toString("base64");
  return { mediaType: SIMPLE, content, annotations: { "dev.cosignproject.cosign/signature": signature } };
}

function statementAbout(digest: string): string {
  const subject = [{ name: "image", digest: { sha256: digest.slice("sha256:".length) } }];
  return JSON.stringify({ _type: "https://in-toto.io/Statement/v1", subject, predicateType: SPDX, predicate: { spdxVersion: "SPDX-2.3" } });
}

/** @param signed replaces the payload that is signed */
function envelope(payload: string, { privateKey }: KeyPair, signed = payload): object {
  const payloadType = "application/vnd.in-toto+json";
  const encoded = `DSSEv1 ${payloadType.length} ${payloadType} ${Buffer.byteLength(signed)} ${signed}`;
  const sig = sign("sha256", Buffer.from(encoded), privateKey).toString("base64");
  return { payloadType, payload: Buffer.from(payload).toString("base64"), signatures: [{ keyid: "", sig }] };
}

describeWithWorld("signatures of images", (world) => {
  const trusted = ecKey();
  const stranger = ecKey();
  let group: string;
  let repo: ImageRepo;
  let keyUid: string;
  before(async () => {
    group = await world.group(world.orgUid, "signed");
    repo = await createImageRepo(world, world.owner.token, group);
    keyUid = await trust(world.orgUid, "release", trusted.pem);
  });

  async function trust(parent: string, name: string, publicKey: string): Promise<string> {
    return (await world.must(SignatureKeysService.method.createSignatureKey, { parent, signatureKey: { name, publicKey } })).uid;
  }

  async function attach(layers: readonly SignedLayer[], to: Descriptor | string, artifactType = "application/example"): Promise<string> {
    const config = await repo.client.blob(repo.name, "{}", EMPTY);
    const descriptors = [];
    for (const { content, mediaType, annotations } of layers)
      descriptors.push({ ...(await repo.client.blob(repo.name, content, mediaType)), ...(annotations && { annotations }) });
    const manifest = { schemaVersion: 2, mediaType: MANIFEST, config, layers: descriptors };
    const referrer = typeof to === "string" ? manifest : { ...manifest, artifactType, subject: to };
    return (await repo.client.manifest(repo.name, referrer, typeof to === "string" ? to : undefined)).digest;
  }

  async function referrersOf({ digest }: Descriptor, more: object = {}): Promise<ImageReferrer[]> {
    return (await world.must(ImageReferrersService.method.listImageReferrers, { uid: repo.uid, digest, ...more })).referrers;
  }

  /** The only signature of the only referrer. */
  async function checked(layer: SignedLayer, image: Descriptor) {
    await attach([layer], image);
    const [referrer] = await referrersOf(image);
    assert.equal(referrer?.state, referrer?.signatures[0]?.state);
    return referrer?.signatures[0];
  }

  test("a simple signature that cosign attaches by a tag or as a referrer is verified by a key of a group above", async () => {
    const byTag = await repo.push([]);
    const tag = `${byTag.digest.replace(":", "-")}.sig`;
    const digest = await attach([simpleSignature(byTag.digest, stranger), simpleSignature(byTag.digest, trusted)], tag);
    const [tagged] = await referrersOf(byTag);
    assert.deepEqual([tagged?.digest, tagged?.state], [digest, VERIFIED]);
    const [other, own] = tagged?.signatures ?? [];
    assert.deepEqual([other?.state, other?.reason], [UNVERIFIED, "no trusted key made this signature"]);
    assert.deepEqual(
      [own?.state, own?.reason, own?.mediaType, own?.signatureKey, own?.signatureKeyName],
      [VERIFIED, "", SIMPLE, keyUid, "release"],
    );
    assert.equal((await checked(simpleSignature(byTag.digest, trusted), await repo.push([])))?.state, INVALID);
    const image = await repo.push([]);
    assert.equal((await checked(simpleSignature(image.digest, trusted), image))?.state, VERIFIED);
  });

  test("a signed SBOM is verified in an envelope and in a bundle, and names its predicate", async () => {
    for (const wrap of [
      (signed: object) => signed,
      (dsseEnvelope: object) => ({ mediaType: BUNDLE, verificationMaterial: { publicKey: {} }, dsseEnvelope }),
    ]) {
      const image = await repo.push([]);
      const content = JSON.stringify(wrap(envelope(statementAbout(image.digest), trusted)));
      const signature = await checked({ mediaType: content.includes("bundle") ? BUNDLE : ENVELOPE, content }, image);
      assert.deepEqual([signature?.state, signature?.predicateType, signature?.signatureKey], [VERIFIED, SPDX, keyUid]);
    }
  });

  test("a signature whose content only another repo has is missing", async () => {
    const other = await createImageRepo(world, world.owner.token, await world.group(world.orgUid, "elsewhere"));
    const image = await repo.push([]);
    const { content, mediaType, annotations } = simpleSignature(image.digest, trusted);
    const layer = { ...(await other.client.blob(other.name, content, mediaType)), annotations, urls: ["https://example.com/signature"] };
    const config = await repo.client.blob(repo.name, "{}", EMPTY);
    const artifactType = "application/example";
    await repo.client.manifest(repo.name, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer], artifactType, subject: image });
    const [referrer] = await referrersOf(image);
    assert.deepEqual(
      referrer?.signatures.map(({ state, reason }) => [state, reason]),
      [[UNVERIFIED, "its content is missing"]],
    );
  });

  test("a forged, moved or malformed signature is not verified, and its reason says why", async () => {
    const of = (content: object | string) => ({
      mediaType: ENVELOPE,
      content: typeof content === "string" ? content : JSON.stringify(content),
    });
    const cases: readonly (readonly [state: SignatureState, reason: RegExp, make: (digest: string) => SignedLayer])[] = [
      [UNVERIFIED, /no trusted key/, (digest) => of(envelope(statementAbout(digest), stranger))],
      [UNVERIFIED, /no trusted key/, (digest) => of(envelope(statementAbout(digest), trusted, statementAbout(digestOf("x"))))],
      [INVALID, /another image/, () => of(envelope(statementAbout(digestOf("x")), trusted))],
      [INVALID, /not JSON/, () => of("{")],
      [INVALID, /not a JSON object/, () => of("[]")],
      [INVALID, /no payload/, () => of("{}")],
      [INVALID, /no sig/, () => of({ payload: "", payloadType: "", signatures: [{}] })],
      [UNVERIFIED, /certificate/, () => of({ verificationMaterial: { certificate: {} }, dsseEnvelope: envelope("{}", stranger) })],
      [INVALID, /no signature/, () => of({ messageSignature: {} })],
      [UNVERIFIED, /no trusted key/, (digest) => ({ ...simpleSignature(digest, trusted), annotations: {} })],
      [UNVERIFIED, /no trusted key/, (digest) => ({ ...simpleSignature(digest, trusted), content: "{}" })],
    ];
    for (const [state, reason, make] of cases) {
      const image = await repo.push([]);
      const signature = await checked(make(image.digest), image);
      assert.equal(signature?.state, state, String(reason));
      assert.match(signature?.reason ?? "", reason);
      assert.equal(signature?.predicateType, "");
    }
  });

  test("keys of every supported kind verify their signatures, and other kinds are refused", async () => {
    const kinds: Readonly<Record<string, readonly [KeyPair, string | null]>> = {
      "p-384": [ecKey("P-384"), "sha384"],
      "p-384 with sha-256": [ecKey("P-384"), "sha256"],
      "p-521": [ecKey("P-521"), "sha512"],
      ed25519: [pairOf(generateKeyPairSync("ed25519")), null],
      rsa: [pairOf(generateKeyPairSync("rsa", { modulusLength: 2048 })), "sha256"],
    };
    for (const [name, [pair, hash]] of Object.entries(kinds)) {
      const uid = await trust(group, name, pair.pem);
      const image = await repo.push([]);
      assert.equal((await checked(simpleSignature(image.digest, pair, hash), image))?.signatureKey, uid, name);
    }
    const refused = [
      "",
      "nonsense",
      pairOf(generateKeyPairSync("rsa", { modulusLength: 1024 })).pem,
      pairOf(generateKeyPairSync("ec", { namedCurve: "secp256k1" })).pem,
      pairOf(generateKeyPairSync("x25519")).pem,
      trusted.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    ];
    for (const publicKey of refused) {
      const outcome = await world.rest.call(
        SignatureKeysService.method.createSignatureKey,
        { parent: group, signatureKey: { name: "refused", publicKey } },
        world.owner.token,
      );
      assert.equal(codeOf(outcome), 3, publicKey.slice(0, 40));
    }
  });

  test("a key of another group verifies nothing, and a deleted key no longer does", async () => {
    const pair = ecKey();
    await trust(await world.group(world.orgUid, "other team"), "elsewhere", pair.pem);
    const image = await repo.push([]);
    assert.equal((await checked(simpleSignature(image.digest, pair), image))?.state, UNVERIFIED);
    const uid = await trust(group, "short-lived", pair.pem);
    assert.equal((await referrersOf(image))[0]?.state, VERIFIED);
    await world.must(SignatureKeysService.method.deleteSignatureKey, { uid });
    assert.equal((await referrersOf(image))[0]?.state, UNVERIFIED);
  });

  test("all referrers of an image are listed in pages, with unsigned ones, for callers who may list referrers", async () => {
    const image = await repo.push([]);
    const attached: string[] = [];
    for (let i = 0; i < 5; i++) attached.push(await attach([{ mediaType: "application/spdx+json", content: `{"number":${i}}` }], image));
    attached.push(await attach([{ mediaType: "text/plain", content: "x" }], `${image.digest.replace(":", "-")}.sbom`));
    const listed: ImageReferrer[] = [];
    const reader = await world.robot(group, [Capability.CAP_REFERRERS_LIST]);
    for (let pageToken = ""; ; ) {
      const request = { uid: repo.uid, digest: image.digest, pageSize: 2, pageToken };
      const page = await world.must(ImageReferrersService.method.listImageReferrers, request, reader.token);
      listed.push(...page.referrers);
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    assert.deepEqual(
      listed.map(({ digest }) => digest),
      attached.sort(),
    );
    for (const { state, signatures, createTime, size } of listed) {
      assert.deepEqual([state, signatures], [UNSIGNED, []]);
      assert.ok(createTime !== undefined && size > 0n);
    }
    const other = await world.robot(group, [Capability.CAP_REPO_LIST]);
    const refused = await world.rest.call(
      ImageReferrersService.method.listImageReferrers,
      { uid: repo.uid, digest: image.digest },
      other.token,
    );
    assert.equal(codeOf(refused), 7);
    const missing = { uid: repo.uid, digest: digestOf("missing") };
    assert.equal(codeOf(await world.rest.call(ImageReferrersService.method.listImageReferrers, missing, world.owner.token)), 5);
  });

  test("calls wait for each other instead of being refused", async () => {
    const image = await repo.push([]);
    await attach([simpleSignature(image.digest, trusted)], image);
    const pages = await Promise.all(Array.from({ length: 30 }, () => referrersOf(image)));
    for (const [referrer] of pages) assert.equal(referrer?.state, VERIFIED);
  });

  test("a group has a limited number of signature keys, and is not deleted while it has one", async () => {
    const folder = await world.group(world.orgUid, "full");
    for (let i = 0; i < 20; i++) await trust(folder, `key ${i}`, trusted.pem);
    const request = { parent: folder, signatureKey: { name: "one more", publicKey: trusted.pem } };
    assert.equal(codeOf(await world.rest.call(SignatureKeysService.method.createSignatureKey, request, world.owner.token)), 9);
    const deleted = await world.raw("DELETE", `/iam/v2/groups/${folder}`);
    assert.equal(deleted.status, 400);
    assert.match(deleted.text, /signature keys/);
  });
});
