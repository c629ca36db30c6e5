/**
 * Tests the conformance suite's content: each kind, under both digest algorithms, pushed in each way, pulled, listed
 * and deleted.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { startServer, storeNames } from "../harness/harness.ts";
import {
  answerOf,
  CONFIG,
  createRegistryClient,
  type Descriptor,
  digestOf,
  INDEX,
  LAYER,
  MANIFEST,
  type RegistryClient,
} from "../harness/registry/registry-client.ts";

const NAME = "my-org/content";
const OTHER = "my-org/content-mounted";
const ALGORITHMS = ["sha256", "sha512"] as const;
const EMPTY_TYPE = "application/vnd.oci.empty.v1+json";
const UNKNOWN_FIELD = { "org.example.custom": { nested: ["kept"] } };

/** Manifests in the order of their pushes, and the tag of the last one. */
interface Content {
  readonly manifests: readonly Pushed[];
  readonly tag: string;
}
interface Pushed extends Descriptor {
  readonly text: string;
}

for (const store of storeNames) {
  test(`the registry handles every kind of content, pushed in every way (${store})`, async (t) => {
    await using server = await startServer({ store });
    using client = createRegistryClient(server.baseUrl, `Bearer ${server.token}`);

    await t.test("a repository that does not exist has no tags and no referrers", async () => {
      assert.equal((await client.send("GET", `${NAME}/tags/list`)).status, 404);
      const answer = await client.send("GET", `${NAME}/referrers/${digestOf("x")}`);
      assert.deepEqual([answer.status, answer.headers["content-type"]], [200, INDEX]);
      assert.deepEqual(answer.json(), { schemaVersion: 2, mediaType: INDEX, manifests: [] });
    });
    for (const algorithm of ALGORITHMS) {
      for (const [way, push] of Object.entries(WAYS)) {
        await t.test(`a ${algorithm} blob pushed as ${way} can be pulled at the answered location and deleted`, async () => {
          for (const content of [randomBytes(3067), Buffer.alloc(0), Buffer.from("{}")]) {
            const digest = digestOf(content, algorithm);
            const { status, headers } = await push(client, content, digest);
            assert.deepEqual([status, headers["docker-content-digest"]], [201, digest]);
            const pulled = await client.send("GET", headers.location ?? "");
            assert.deepEqual([pulled.status, pulled.body, pulled.headers["content-length"]], [200, content, String(content.length)]);
            const head = await client.send("HEAD", `${NAME}/blobs/${digest}`);
            assert.deepEqual([head.status, head.body.length, head.headers["content-length"]], [200, 0, String(content.length)]);
            assert.equal((await client.send("DELETE", `${NAME}/blobs/${digest}`)).status, 202);
            assert.equal((await client.send("HEAD", `${NAME}/blobs/${digest}`)).status, 404);
          }
          const wrong = await push(client, randomBytes(3067), digestOf("other", algorithm));
          assert.deepEqual([wrong.status, wrong.code], [400, "DIGEST_INVALID"]);
        });
      }
      await t.test(`byte ranges of a ${algorithm} blob are served`, () => parts(client, algorithm));
      await t.test(`a ${algorithm} blob can be mounted and an upload can be cancelled`, async () => {
        const blob = randomBytes(512);
        const digest = digestOf(blob, algorithm);
        await WAYS["POST and PUT"](client, blob, digest);
        const mounted = await client.send("POST", `${OTHER}/blobs/uploads/?mount=${digest}&from=${NAME}`);
        assert.deepEqual([mounted.status, mounted.headers["docker-content-digest"]], [201, digest]);
        assert.deepEqual((await client.send("GET", mounted.headers.location ?? "")).body, blob);
        const { headers } = await client.send("POST", `${NAME}/blobs/uploads/`);
        assert.equal((await client.send("DELETE", headers.location ?? "")).status, 204);
      });
      for (const [kind, make] of Object.entries(KINDS)) {
        await t.test(`${kind} with ${algorithm} digests can be pushed and pulled`, async () => {
          const content = await make(client, algorithm);
          await pushAndPull(client, content);
          await remove(client, content);
        });
      }
    }
  });
}

type Way = (client: RegistryClient, content: Buffer, digest: string) => ReturnType<RegistryClient["send"]>;

async function begin(client: RegistryClient): Promise<string> {
  const { status, headers } = await client.send("POST", `${NAME}/blobs/uploads/`);
  assert.equal(status, 202);
  return headers.location ?? "";
}

/** Sends a chunk out of order, and asks for the expected range. */
async function sendOutOfOrder(
  client: RegistryClient,
  location: string,
  { method, digest, from }: { readonly method: "PATCH" | "PUT"; readonly digest: string; readonly from: number },
): Promise<string> {
  const headers = { "content-range": `${from + 5000}-${from + 5003}` };
  const refused = await client.send(method, `${location}${method === "PUT" ? `?digest=${digest}` : ""}`, { headers, body: "skip" });
  assert.equal(refused.status, 416);
  const state = await client.send("GET", location);
  assert.deepEqual([state.status, state.headers.range], [204, `0-${Math.max(from - 1, 0)}`]);
  return state.headers.location ?? "";
}

const chunked =
  ({ stumbles, putsLast }: { readonly stumbles: boolean; readonly putsLast: boolean }): Way =>
  async (client, content, digest) => {
    let location = await begin(client);
    const size = 1024;
    for (let start = 0; start < content.length; start += size) {
      const body = content.subarray(start, start + size);
      const isLast = start + size >= content.length;
      const method = putsLast && isLast ? "PUT" : "PATCH";
      if (stumbles) location = await sendOutOfOrder(client, location, { method, digest, from: start });
      const headers = { "content-range": `${start}-${start + body.length - 1}` };
      const answer = await client.send(method, `${location}${method === "PUT" ? `?digest=${digest}` : ""}`, { headers, body });
      if (method === "PUT") return answer;
      assert.equal(answer.status, 202);
      location = answer.headers.location ?? "";
    }
    return client.send("PUT", `${location}?digest=${digest}`, { headers: { "content-length": "0" } });
  };

const WAYS = {
  "POST alone": (client, body, digest) => client.send("POST", `${NAME}/blobs/uploads/?digest=${digest}`, { body }),
  "POST and PUT": async (client, body, digest) => client.send("PUT", `${await begin(client)}?digest=${digest}`, { body }),
  streamed: async (client, body, digest) => {
    const headers = { "transfer-encoding": "chunked", "content-type": "application/octet-stream" };
    const request = client.open("PATCH", await begin(client), headers);
    request.end(body);
    const { status, headers: answered } = await answerOf(request);
    assert.equal(status, 202);
    return client.send("PUT", `${answered.location}?digest=${digest}`, { headers: { "content-length": "0" } });
  },
  chunked: chunked({ stumbles: false, putsLast: false }),
  "chunked, the last with PUT": chunked({ stumbles: false, putsLast: true }),
  "chunked, out of order": chunked({ stumbles: true, putsLast: false }),
  "chunked, out of order, the last with PUT": chunked({ stumbles: true, putsLast: true }),
} satisfies Record<string, Way>;

async function parts(client: RegistryClient, algorithm: string): Promise<void> {
  const blob = randomBytes(2048);
  const digest = digestOf(blob, algorithm);
  await WAYS["POST alone"](client, blob, digest);
  const get = (range: string) => client.send("GET", `${NAME}/blobs/${digest}`, { headers: { range: `bytes=${range}` } });
  for (const [range, start, end] of [
    ["500-1499", 500, 1499],
    ["500-", 500, 2047],
    ["-500", 1548, 2047],
    ["2000-5000", 2000, 2047],
  ] as const) {
    const { status, headers, body } = await get(range);
    assert.deepEqual([status, headers["content-range"], body], [206, `bytes ${start}-${end}/2048`, blob.subarray(start, end + 1)]);
    assert.equal(headers["content-length"], String(end - start + 1));
  }
  for (const range of ["500-0", "5000-10000"]) assert.equal((await get(range)).status, 416);
}

const KINDS: Readonly<Record<string, (client: RegistryClient, algorithm: string) => Promise<Content>>> = {
  "an image": async (client, algorithm) => ({ manifests: [await image(client, algorithm)], tag: "image" }),
  "an image without layers": async (client, algorithm) => ({
    manifests: [await image(client, algorithm, { layers: [] })],
    tag: "no-layers",
  }),
  "a manifest of nearly 4 MiB": async (client, algorithm) => {
    const annotations = Object.fromEntries(Array.from({ length: 390 }, (_, i) => [`large-${i}`, "A".repeat(10_000)]));
    return { manifests: [await image(client, algorithm, { annotations })], tag: "large" };
  },
  "an index of two platforms, and one of such": async (client, algorithm) => {
    const images = [await image(client, algorithm), await image(client, algorithm)];
    const inner = index(
      images.map((of, i) => ({ ...descriptor(of), platform: { os: "linux", architecture: ["amd64", "arm64"][i] } })),
      algorithm,
    );
    return { manifests: [...images, inner, index([descriptor(inner)], algorithm)], tag: "nested" };
  },
  "an index of nothing": async (_, algorithm) => ({ manifests: [index([], algorithm)], tag: "empty-index" }),
  "empty lists that are written as null": async (client, algorithm) => {
    const bare = await image(client, algorithm, { layers: null, annotations: null });
    return { manifests: [bare, pushedOf({ schemaVersion: 2, mediaType: INDEX, manifests: null }, INDEX, algorithm)], tag: "null-lists" };
  },
  "an artifact, and an index of artifacts": async (client, algorithm) => {
    const artifact = await image(client, algorithm, await artifactFields(client, algorithm, "application/vnd.example.one"));
    const list = index([{ ...descriptor(artifact), artifactType: "application/vnd.example.one" }], algorithm, {
      artifactType: "application/vnd.example.one",
    });
    return { manifests: [artifact, list], tag: "artifacts" };
  },
  "an artifact that is empty": async (client, algorithm) => {
    const fields = await artifactFields(client, algorithm, "application/vnd.example.one");
    return { manifests: [await image(client, algorithm, { ...fields, layers: [fields.config] })], tag: "empty-artifact" };
  },
  "referrers of an image and of an index": async (client, algorithm) => {
    const subject = await image(client, algorithm);
    const list = index([descriptor(subject)], algorithm);
    const refer = async (of: Pushed, type: string) =>
      image(client, algorithm, {
        ...(await artifactFields(client, algorithm, type)),
        subject: descriptor(of),
        annotations: { note: type },
      });
    const referrers = [await refer(subject, "application/vnd.example.one"), await refer(subject, "application/vnd.example.two")];
    const plain = await image(client, algorithm, { subject: descriptor(subject) });
    const ofIndex = index([], algorithm, {
      subject: descriptor(list),
      artifactType: "application/vnd.example.one",
      annotations: { note: "x" },
    });
    return { manifests: [subject, list, ...referrers, plain, ofIndex], tag: "with-subject" };
  },
  "a referrer of what is not there": async (client, algorithm) => {
    const subject = { mediaType: MANIFEST, digest: digestOf("missing content", algorithm), size: 123 };
    return { manifests: [await image(client, algorithm, { subject })], tag: "missing-subject" };
  },
  "descriptors with their data": async (client, algorithm) => {
    const config = await blob(client, JSON.stringify({ architecture: "amd64", os: "linux", author: "data" }), CONFIG, algorithm);
    const data = Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux", author: "data" })).toString("base64");
    return { manifests: [await image(client, algorithm, { config: { ...config, data } })], tag: "data-field" };
  },
  "layers that may not be distributed": async (client, algorithm) => {
    const types = [
      "application/vnd.oci.image.layer.nondistributable.v1.tar",
      "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    ];
    const far = types.map((mediaType) => {
      const digest = digestOf(randomBytes(16), algorithm);
      return { mediaType, digest, size: 123456, urls: [`https://store.example.com/blobs/${digest}`] };
    });
    const layers = [...far, await blob(client, randomBytes(64), LAYER, algorithm)];
    return { manifests: [await image(client, algorithm, { layers })], tag: "non-distributable" };
  },
  "fields that nobody knows": async (client, algorithm) => {
    const config = await blob(client, JSON.stringify({ architecture: "amd64", os: "linux", ...UNKNOWN_FIELD }), CONFIG, algorithm);
    const custom = await image(client, algorithm, { config, ...UNKNOWN_FIELD });
    return { manifests: [custom, index([descriptor(custom)], algorithm, UNKNOWN_FIELD)], tag: "custom-fields" };
  },
};

async function blob(client: RegistryClient, content: string | Buffer, mediaType: string, algorithm: string): Promise<Descriptor> {
  const digest = digestOf(content, algorithm);
  assert.equal((await WAYS["POST alone"](client, Buffer.from(content), digest)).status, 201);
  return { mediaType, digest, size: content.length };
}

async function artifactFields(client: RegistryClient, algorithm: string, artifactType: string) {
  const config = await blob(client, "{}", EMPTY_TYPE, algorithm);
  return { artifactType, config, layers: [await blob(client, randomBytes(64), artifactType, algorithm)] };
}

/** Pushes config and layers, but not the manifest itself. */
async function image(client: RegistryClient, algorithm: string, fields: object = {}): Promise<Pushed> {
  const config = await blob(
    client,
    JSON.stringify({ architecture: "amd64", os: "linux", author: digestOf(randomBytes(9)) }),
    CONFIG,
    algorithm,
  );
  const layers = [await blob(client, randomBytes(64), LAYER, algorithm)];
  return pushedOf({ schemaVersion: 2, mediaType: MANIFEST, config, layers, ...fields }, MANIFEST, algorithm);
}

function index(manifests: readonly object[], algorithm: string, fields: object = {}): Pushed {
  return pushedOf({ schemaVersion: 2, mediaType: INDEX, manifests, ...fields }, INDEX, algorithm);
}

function pushedOf(manifest: object, mediaType: string, algorithm: string): Pushed {
  const text = JSON.stringify(manifest, null, 2);
  return { mediaType, digest: digestOf(text, algorithm), size: text.length, text };
}

function descriptor({ mediaType, digest, size }: Pushed): Descriptor {
  return { mediaType, digest, size };
}

async function pushAndPull(client: RegistryClient, { manifests, tag }: Content): Promise<void> {
  const last = manifests.at(-1);
  const references = [...manifests.map((manifest) => [manifest.digest, manifest] as const), ...(last ? [[tag, last] as const] : [])];
  for (const [reference, { text, mediaType, digest }] of references) {
    // The registry chooses the digest of a tag only: SHA-256 unless the client asked for another.
    const named = reference === tag ? digestOf(text) : digest;
    // Without a content length, as streaming clients send it.
    const request = client.open("PUT", `${NAME}/manifests/${reference}`, { "content-type": mediaType, "transfer-encoding": "chunked" });
    request.end(text);
    const put = await answerOf(request);
    const { subject } = JSON.parse(text) as { subject?: Descriptor };
    assert.deepEqual([put.status, put.headers["docker-content-digest"], put.headers["oci-subject"]], [201, named, subject?.digest]);
    for (const path of [put.headers.location ?? "", `${NAME}/manifests/${reference}`]) {
      for (const method of ["HEAD", "GET"]) {
        const { status, headers, body } = await client.send(method, path, { headers: { accept: `${INDEX}, ${MANIFEST}` } });
        assert.deepEqual([status, headers["content-type"], headers["docker-content-digest"]], [200, mediaType, named]);
        assert.deepEqual([headers["content-length"], body.toString()], [String(text.length), method === "GET" ? text : ""]);
      }
    }
    if (subject !== undefined) await assertRefers(client, subject.digest, named, text);
  }
  assert.ok(((await client.send("GET", `${NAME}/tags/list`)).json() as { tags: string[] }).tags.includes(tag));
}

async function assertRefers(client: RegistryClient, subject: string, digest: string, text: string): Promise<void> {
  const manifest = JSON.parse(text) as { artifactType?: string; config?: Descriptor; annotations?: object };
  const artifactType = manifest.artifactType ?? manifest.config?.mediaType ?? "";
  for (const query of ["", `?artifactType=${encodeURIComponent(artifactType)}`]) {
    const answer = await client.send("GET", `${NAME}/referrers/${subject}${query}`);
    const { manifests } = answer.json() as { manifests: (Descriptor & { artifactType?: string; annotations?: object })[] };
    const found = manifests.find((referrer) => referrer.digest === digest);
    assert.deepEqual([answer.status, found?.artifactType, found?.annotations], [200, artifactType, manifest.annotations]);
    if (query !== "") assert.ok(manifests.every((referrer) => referrer.artifactType === artifactType));
  }
}

/** Deletes them in reverse order, and asserts that each is gone at once. */
async function remove(client: RegistryClient, { manifests, tag }: Content): Promise<void> {
  const tagged = (await client.send("HEAD", `${NAME}/manifests/${tag}`)).headers["docker-content-digest"];
  for (const reference of [tag, String(tagged), ...manifests.map(({ digest }) => digest).reverse()]) {
    const { status } = await client.send("DELETE", `${NAME}/manifests/${reference}`);
    assert.ok(status === 202 || (status === 404 && reference === manifests.at(-1)?.digest));
    assert.equal((await client.send("HEAD", `${NAME}/manifests/${reference}`)).status, 404);
  }
  for (const { text } of manifests) {
    const { config, layers } = JSON.parse(text) as { config?: Descriptor; layers?: Descriptor[] | null };
    for (const { digest } of [...(config ? [config] : []), ...(layers ?? [])]) {
      assert.ok([202, 404].includes((await client.send("DELETE", `${NAME}/blobs/${digest}`)).status));
      assert.equal((await client.send("HEAD", `${NAME}/blobs/${digest}`)).status, 404);
    }
  }
}
