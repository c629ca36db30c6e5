/**
 * Feeds every path by which callers upload content with inputs that are slow or large to parse, from 1 KB to the maximum
 * size. One request must cost the main thread little CPU time and the process little memory. hostile-rows.test.ts has the
 * inputs whose cost depends on the store, hostile-messages.test.ts those of gRPC, and hostile-background.test.ts those
 * that are read in the background.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, test } from "node:test";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { part } from "../harness/forged-tokens.ts";
import { pluginJar } from "../harness/libraries/maven-client.ts";
import { FORM_TYPE, formOf, metadataText, wheelEntries, zipOf } from "../harness/libraries/python-packages.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import {
  basic,
  CONFIG,
  createRegistryClient,
  digestOf,
  INDEX,
  MANIFEST,
  type RegistryClient,
} from "../harness/registry/registry-client.ts";
import { createCostChecks, isCheap } from "../harness/robustness/cost-checks.ts";
import { tarOfEntries, tarOfLongHeader, zipDirectory } from "../harness/robustness/hostile-archives.ts";
import { fill, jsonTexts, readmes, xmlDocuments } from "../harness/robustness/hostile-documents.ts";
import { type MeteredClient, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { startDirectory } from "../harness/scim/directory.ts";
import { createSigstore, writeTrustedRoot } from "../harness/sigstore.ts";
import { startWorld, type World } from "../harness/world.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
/** Leaves room for what surrounds a document in its request. */
const MAX_MESSAGE = 4 * MIB - 2 * KIB;

let world: World;
let client: MeteredClient;
let registry: RegistryClient;
let group: string;
before(async () => {
  const { trustedRoot } = await createSigstore();
  world = await startWorld({ env: { HOLT_SIGSTORE_TRUSTED_ROOT: writeTrustedRoot(trustedRoot) } });
  client = startMeteredClient(world.baseUrl, world.token);
  registry = createRegistryClient(world.baseUrl, basic("_token", world.token));
  group = await world.group(world.orgUid, "hostile");
});
after(async () => {
  registry[Symbol.dispose]();
  await client[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
const { assertCheap, assertAllCheap } = createCostChecks(() => client);

test("no readme costs the main thread much", async () => {
  const { uid } = await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "readmes" } });
  const path = `/registry/v2/repos/${uid}/readme`;
  await assertAllCheap(readmes, [KIB, 256 * KIB - 64], (content) => ({
    method: "PATCH",
    path,
    body: JSON.stringify({ content }),
  }));
});

const COORDINATES = "<groupId>com.example</groupId><artifactId>lib</artifactId><version>1.0</version>";
const mavenPath = (file: string) => `/libraries/java/my-org:hostile/com/example/lib/1.0/${file}`;

test("no POM and no plugin descriptor costs the main thread much", async () => {
  const put = (file: string, body: string | Buffer) => ({ method: "PUT", path: mavenPath(file), body });
  await assertAllCheap(xmlDocuments("project", COORDINATES), [KIB, 16 * KIB, MIB], (pom) => put("lib-1.0.pom", pom));
  const jar = (descriptor: string) => put("lib-1.0.jar", pluginJar({ groupId: "com.example", artifactId: "lib" }, "", descriptor));
  await assertAllCheap(xmlDocuments("plugin", COORDINATES), [KIB, 4 * MIB], jar);
  for (const entries of [20, 20_000]) await assertCheap(`a jar of ${entries} entries`, put("lib-1.0.jar", zipDirectory(entries)));
});

test("no wheel, source distribution or form costs the main thread much", async () => {
  const send = (fileName: string, bytes: Buffer, fields = {}) => ({
    ...{ method: "POST", path: "/libraries/python/my-org:hostile/" },
    headers: { "content-type": FORM_TYPE },
    body: formOf({ fileName, bytes }, fields),
  });
  const [wheelName, sdistName] = ["demo-1.0-py3-none-any.whl", "demo-1.0.tar.gz"];
  const wheelWith = (file: string, text: string) =>
    send(wheelName, zipOf(wheelEntries({}).map((entry) => (entry.name.endsWith(file) ? { ...entry, content: text } : entry))));
  const metadata = metadataText({}).trimEnd();
  await client.send(send(wheelName, zipOf(wheelEntries({ version: "0.9" }))));
  for (const size of [KIB, 4 * MIB - 1]) {
    for (const line of ["a: b\n", " b\n", "a:\r"])
      await assertCheap(`METADATA of ${JSON.stringify(line)}`, wheelWith("METADATA", fill(size, line, `${metadata}\nX: y\n`)));
    await assertCheap("empty lines in METADATA", wheelWith("METADATA", fill(size, "\n", `${metadata}\n`)));
    await assertCheap(
      "tags",
      wheelWith(
        "WHEEL",
        fill(size, (i) => `Tag: p${i}-none-any\n`),
      ),
    );
  }
  for (const entries of [20, 20_000]) {
    await assertCheap(`a wheel of ${entries} entries`, send(wheelName, zipDirectory(entries)));
    await assertCheap(
      `a source distribution of ${entries} entries`,
      send(
        sdistName,
        tarOfEntries(entries, (i) => `demo-1.0/a${i}`),
      ),
    );
  }
  for (const type of ["x", "L", "g"] as const)
    for (const size of [KIB, 50 * MIB])
      await assertCheap(`a header ${type} of ${size} bytes`, send(sdistName, tarOfLongHeader(type, size)));
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, ""]));
  for (const count of [20, 20_000]) await assertCheap(`${count} fields`, send(wheelName, Buffer.from(""), fields(count)));
});

test("no manifest, index or config costs the main thread much", async () => {
  const { uid } = await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "manifests" } });
  const put = (body: string, type = INDEX) => ({
    ...{ method: "PUT", path: `/v2/${uid}/manifests/x`, body },
    headers: { authorization: basic("_token", world.token), "content-type": type },
  });
  const sizes = [KIB, 32 * KIB, MAX_MESSAGE];
  await assertAllCheap(jsonTexts, sizes, put);
  const descriptor = (i: number) => `{"mediaType":"","size":1,"digest":"${digestOf(String(i))}"},`;
  const last = descriptor(0).slice(0, -1);
  const listAfter = (fields: string) => (bytes: number) => fill(bytes, descriptor, `{"schemaVersion":2,${fields}:[`, `${last}]}`);
  await assertAllCheap({ "manifests of an index": listAfter('"manifests"') }, sizes, put);
  await assertAllCheap({ "layers of an image": listAfter(`"config":${last},"layers"`) }, sizes, (body) => put(body, MANIFEST));
  for (const [name, textOf] of Object.entries(jsonTexts)) {
    const config = await registry.blob(uid, textOf(MIB - 10), CONFIG);
    await assertCheap(`a config of ${name}`, put(JSON.stringify({ schemaVersion: 2, config, layers: [] }), MANIFEST));
  }
});

test("no SCIM body costs the main thread much", async () => {
  const { path, token } = await startDirectory(world);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/scim+json" };
  // One reader of JSON serves all endpoints, so one of them gets the large texts.
  for (const [endpoint, sizes] of Object.entries({ Users: [KIB, MAX_MESSAGE], Groups: [KIB] }))
    await assertAllCheap(jsonTexts, sizes, (body) => ({ method: "POST", path: `${path}/${endpoint}`, headers, body }));
});

test("no JSON message and no query of the API costs the main thread much", async () => {
  const paths = [`/registry/v2/repos/${group}`, `/iam/v2/roles/${group}`, `/iam/v2/identities/${group}`, `/iam/v2/role_bindings/${group}`];
  // One reader of JSON serves all messages, so one of them gets the large texts.
  for (const [index, path] of paths.entries())
    await assertAllCheap(jsonTexts, index === 0 ? [KIB, MAX_MESSAGE] : [KIB], (body) => ({ method: "POST", path, body }));
  const post = (what: string, path: string, body: object) => assertCheap(what, { method: "POST", path, body: JSON.stringify(body) });
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 4096 });
  const content = publicKey.export({ type: "spki", format: "pem" });
  for (const count of [10, 4500]) {
    const runtimeKeyring = Array.from({ length: count }, (_, i) => ({ name: `k${i}`, content }));
    await post(`${count} keys`, `/registry/v2/repos/${group}`, { name: "keys", customOverlay: { contents: { runtimeKeyring } } });
  }
  const large = `-----BEGIN PUBLIC KEY-----\n${"A".repeat(64)}\n`.padEnd(3 * MIB, `${"A".repeat(64)}\n`);
  const overlay = { contents: { runtimeKeyring: [{ name: "k", content: large }] } };
  await post("a large key", `/registry/v2/repos/${group}`, { name: "keys", customOverlay: overlay });
  const issuerKeys = "[".repeat(16_000);
  await post("a JWK set", `/iam/v2/identities/${group}`, { name: "r", staticKeys: { issuer: "x", subject: "y", issuerKeys } });
  const capabilities = Array.from({ length: 9000 }, () => "CAP_IAM_GROUPS_LIST");
  await post("capabilities", `/iam/v2/roles/${group}`, { name: "r", capabilities });
  const mask = "name,".repeat(3000);
  await assertCheap("a mask", { method: "PATCH", path: `/iam/v2/groups/${group}?update_mask=${mask}name`, body: '{"name":"hostile"}' });
  for (const query of ["uidp.ancestors_of=x&", "a.b.c.d=x&", "page_token=AAAA&", "identity=x&role=x&"])
    await assertCheap(`a query of ${query}`, { method: "GET", path: `/iam/v2/role_bindings?${query.repeat(700)}` });
});

test("no key set and no discovery document of an issuer costs the main thread much", async () => {
  const keySets: Record<string, string> = {
    many: JSON.stringify({ keys: Array.from({ length: 9000 }, (_, i) => ({ kty: "RSA", kid: String(i), n: "AAAA", e: "AQAB" })) }),
    large: JSON.stringify({ keys: Array.from({ length: 60 }, () => ({ kty: "RSA", n: "A".repeat(15_000), e: "AQAB" })) }),
    deep: fill(MIB - 10, "[", '{"keys":'),
    names: fill(MIB - 10, (i) => `"a${i}":1,`, "{", '"keys":[]}'),
    empty: fill(MIB - 10, "{},", '{"keys":[', "{}]}"),
  };
  const documents: Record<string, string> = { "/names-of-issuer/.well-known/openid-configuration": keySets.names ?? "" };
  for (const [name, keys] of Object.entries(keySets)) {
    documents[`/${name}/.well-known/openid-configuration`] = JSON.stringify({
      issuer: `{origin}/${name}`,
      jwks_uri: `{origin}/${name}/keys`,
    });
    documents[`/${name}/keys`] = keys;
  }
  const origin = await client.serve(documents);
  const exchange = async (name: string) => {
    const issuer = `${origin}/${name}`;
    const made = await world.raw("POST", `/iam/v2/identities/${group}`, { name, claimMatch: { issuer, subject: "x" } });
    const { uid } = JSON.parse(made.text) as { uid: string };
    const exp = world.clock.now().getTime() / 1000 + 600;
    const token = `${part({ alg: "RS256", kid: "a" })}.${part({ iss: issuer, sub: "x", exp })}.AAAA`;
    const { status, text, cpuMs } = await client.send({
      ...{ method: "POST", path: `/sts/exchange?identity=${uid}` },
      headers: { authorization: `Bearer ${token}` },
    });
    assert.ok([401, 403, 503].includes(status), text);
    return cpuMs;
  };
  // The first request to an issuer loads the HTTP client.
  await exchange("unknown");
  for (const name of ["names-of-issuer", ...Object.keys(keySets)]) {
    // Once, because every answer is cached.
    const cpuMs = await exchange(name);
    assert.ok(isCheap(cpuMs), `${name}: ${cpuMs} ms`);
  }
});

test("no signature and no attestation of an image costs the main thread much", async () => {
  using repo: ImageRepo = await createImageRepo(world, world.token, await world.group(group, "signatures"));
  const headers = { authorization: `Bearer ${world.token}` };
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = publicKey.export({ type: "spki", format: "pem" });
  const created = await world.raw("POST", `/holt/v1/signatureKeys/${group}`, { name: "trusted", publicKey: key });
  assert.equal(created.status, 200, created.text);
  const payload = (bytes: number) => `{"payloadType":"","payload":"${"A".repeat(bytes)}","signatures":[{"sig":"AAAA"}]}`;
  const signatures = (bytes: number) =>
    fill(bytes, (i) => `{"sig":"${i}"},`, '{"payloadType":"","payload":"","signatures":[', '{"sig":""}]}');
  const bundle = (tlogEntries: string, rawBytes = "AAAA") =>
    `{"mediaType":"${BUNDLE}","verificationMaterial":{"certificate":{"rawBytes":"${rawBytes}"},"tlogEntries":[${tlogEntries}]},
    "messageSignature":{"signature":"AAAA","messageDigest":{"algorithm":"SHA2_256","digest":"AAAA"}}}`;
  const bundles = {
    "log entries": (bytes: number) => bundle(fill(bytes, '{"logId":{}},', "", "{}")),
    // Nested sequences of ASN.1.
    "a deep certificate": (bytes: number) => bundle("", fill(bytes, "MIAwgDCA")),
    "a checkpoint": (bytes: number) => bundle(`{"inclusionProof":{"checkpoint":{"envelope":"${fill(bytes, "— a A\\n")}"}}}`),
  };
  for (const [name, textOf] of Object.entries({ ...jsonTexts, payload, signatures, ...bundles })) {
    const subject = await repo.push([]);
    await repo.pushArtifact([[textOf(2 * MIB), name in bundles ? BUNDLE : "application/vnd.dsse.envelope.v1+json"]], { subject });
    const path = `/holt/v1/repos/${repo.uid}/digests/${subject.digest}/referrers`;
    const { text } = await assertCheap(`a signature of ${name}`, { method: "GET", path, headers });
    assert.match(text, /SIGNATURE_STATE_(INVALID|UNVERIFIED)/);
  }
});

test("no AWS proof of an anonymous caller costs the main thread much", async () => {
  const awsIdentity = { awsAccount: "012345678901", arn: "bar", userId: "foo" };
  const made = await world.raw("POST", `/iam/v2/identities/${group}`, { name: "aws", awsIdentity });
  assert.equal(made.status, 200, made.text);
  const { uid } = JSON.parse(made.text) as { uid: string };
  const proofOf = (bytes: number, part: string, last: string) =>
    Buffer.from(fill(bytes, part, "POST / HTTP/1.1\r\na:", last)).toString("base64");
  const proofs: Record<string, (bytes: number) => string> = {
    spaces: (bytes) => proofOf(bytes, " ", "\x01\r\n\r\n"),
    tabs: (bytes) => proofOf(bytes, "\t", "x\x01\r\n\r\n"),
    headers: (bytes) => proofOf(bytes, "\r\na:", "\r\n\r\n"),
    padding: (bytes) => `${"=".repeat(bytes)}A`,
  };
  const present = (proof: string) => ({
    method: "POST",
    path: `/sts/exchange?identity=${uid}`,
    headers: { authorization: `Bearer ${proof}` },
  });
  for (const proofFor of Object.values(proofs)) assert.match((await client.send(present(proofFor(KIB)))).text, /AWS/);
  await assertAllCheap(proofs, [KIB, 11_000], present);
});
