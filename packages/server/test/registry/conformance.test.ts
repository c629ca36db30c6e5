/** Tests the cases of the OCI distribution conformance suite (1.1): its four workflows in its order, on both stores. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { startServer, storeNames } from "../harness/harness.ts";
import {
  type Answer,
  CONFIG,
  createRegistryClient,
  type Descriptor,
  digestOf,
  INDEX,
  LAYER,
  MANIFEST,
} from "../harness/registry/registry-client.ts";

const NAME = "my-org/conformance";
const OTHER = "my-org/crossmount";
const OCTETS = { "content-type": "application/octet-stream" };
const ABSENT = digestOf("hello world");
const EMPTY = { mediaType: "application/vnd.oci.empty.v1+json", digest: digestOf("{}"), size: 2 };

for (const store of storeNames) {
  test(`the registry passes the four workflows of the OCI conformance suite (${store})`, async (t) => {
    await using server = await startServer({ store });
    using client = createRegistryClient(server.baseUrl, `Bearer ${server.token}`);
    const begin = async (name = NAME) => (await client.send("POST", `${name}/blobs/uploads/`)).headers.location ?? "";
    const finish = (location: string, digest: string, body: Buffer | string) =>
      client.send("PUT", `${location}?digest=${digest}`, { headers: OCTETS, body });
    const pushManifest = (reference: string, content: string, mediaType = MANIFEST) =>
      client.send("PUT", `${NAME}/manifests/${reference}`, { headers: { "content-type": mediaType }, body: content });
    const tags = async (query = "") => (await client.send("GET", `${NAME}/tags/list${query}`)).json() as { tags: string[] };

    const layer = await pushed("you bothered to find out what was in here", LAYER);
    async function pushed(content: string, mediaType: string): Promise<Descriptor> {
      const answer = await finish(await begin(), digestOf(content), content);
      assert.equal(answer.status, 201);
      return { mediaType, digest: digestOf(content), size: content.length };
    }
    /** Each workflow has its own image. */
    async function imageOf(workflow: string) {
      const config = JSON.stringify({ architecture: "amd64", os: "linux", author: workflow, rootfs: { type: "layers", diff_ids: [] } });
      const descriptor = await pushed(config, CONFIG);
      // Fields that the specification does not define must be preserved.
      const extended = { ...descriptor, data: Buffer.from(config).toString("base64"), newUnspecifiedField: "aGVsbG8=" };
      const content = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config: extended, layers: [layer] }, null, "\t");
      return { config: descriptor, content, digest: digestOf(content) };
    }

    await t.test("the registry serves pulls", async (t) => {
      const { config, content, digest } = await imageOf("pull");
      assert.equal((await pushManifest("pulled", content)).status, 201);
      await t.test("HEAD and GET of a missing blob answer 404", async () => {
        assert.equal((await client.send("HEAD", `${NAME}/blobs/${ABSENT}`)).status, 404);
        assert.equal((await client.send("GET", `${NAME}/blobs/${ABSENT}`)).status, 404);
      });
      await t.test("HEAD and GET of a blob answer 200 with its digest", async () => {
        for (const method of ["HEAD", "GET"]) {
          const answer = await client.send(method, `${NAME}/blobs/${config.digest}`);
          assert.deepEqual([answer.status, answer.headers["docker-content-digest"]], [200, config.digest]);
          assert.equal(answer.headers["content-length"], String(config.size));
        }
      });
      await t.test("HEAD and GET of a missing manifest are 404, even if the reference is malformed", async () => {
        for (const reference of [".INVALID_MANIFEST_NAME", "absent", ABSENT]) {
          assert.equal((await client.send("HEAD", `${NAME}/manifests/${reference}`)).status, 404);
          assert.equal((await client.send("GET", `${NAME}/manifests/${reference}`)).status, 404);
        }
      });
      await t.test("HEAD and GET of a manifest by tag and by digest answer 200 with its exact bytes", async () => {
        for (const reference of ["pulled", digest]) {
          const head = await client.send("HEAD", `${NAME}/manifests/${reference}`, { headers: { accept: MANIFEST } });
          const { status, headers, body } = await client.send("GET", `${NAME}/manifests/${reference}`, { headers: { accept: MANIFEST } });
          assert.deepEqual([head.status, status, body.toString()], [200, 200, content]);
          assert.deepEqual([head.headers["docker-content-digest"], headers["docker-content-digest"]], [digest, digest]);
          assert.deepEqual([head.headers["content-length"], headers["content-type"]], [String(content.length), MANIFEST]);
        }
      });
      await t.test("an error has the body that the specification describes", async () => {
        const answer = await pushManifest("sha256:totallywrong", "blablabla");
        assert.equal(answer.status, 400);
        const { errors } = answer.json() as { errors: { code: string; message: string }[] };
        assert.match(errors[0]?.code ?? "", /^[A-Z_]+$/);
        assert.equal(typeof errors[0]?.message, "string");
      });
      await t.test("manifests and blobs can be deleted, in this order", async () => {
        assert.equal((await client.send("DELETE", `${NAME}/manifests/${digest}`)).status, 202);
        assert.equal((await client.send("DELETE", `${NAME}/blobs/${config.digest}`)).status, 202);
      });
    });

    await t.test("push", async (t) => {
      await t.test("a streamed upload is a PATCH with the blob, then a PUT", async () => {
        const blob = randomBytes(42);
        const patched = await client.send("PATCH", await begin(), { headers: OCTETS, body: blob });
        assert.equal(patched.status, 202);
        const put = await finish(patched.headers.location ?? "", digestOf(blob), "");
        assert.deepEqual([put.status, put.headers.location], [201, `/v2/${NAME}/blobs/${digestOf(blob)}`]);
      });
      await t.test("a monolithic upload is one POST, or a POST and a PUT", async () => {
        const [first, second] = [randomBytes(42), randomBytes(42)];
        const post = await client.send("POST", `${NAME}/blobs/uploads/?digest=${digestOf(first)}`, { headers: OCTETS, body: first });
        assert.deepEqual([post.status, post.headers.location], [201, `/v2/${NAME}/blobs/${digestOf(first)}`]);
        assert.deepEqual((await client.send("GET", `${NAME}/blobs/${digestOf(first)}`)).body, first);
        const session = await client.send("POST", `${NAME}/blobs/uploads/`);
        assert.equal(session.status, 202);
        assert.equal((await finish(session.headers.location ?? "", digestOf(second), second)).status, 201);
        assert.deepEqual((await client.send("GET", `${NAME}/blobs/${digestOf(second)}`)).body, second);
      });
      await t.test("chunks are accepted in order only, and the upload's state can be read", async () => {
        const [one, two] = [randomBytes(21), randomBytes(21)];
        const digest = digestOf(Buffer.concat([one, two]));
        const chunk = (location: string, body: Buffer, range: string) =>
          client.send("PATCH", location, { headers: { ...OCTETS, "content-range": range }, body });
        assert.equal((await chunk(await begin(), two, "21-41")).status, 416);
        const location = await begin();
        const first = await chunk(location, one, "0-20");
        assert.deepEqual([first.status, first.headers.range], [202, "0-20"]);
        assert.equal((await chunk(location, one, "0-20")).status, 416);
        const state = await client.send("GET", location);
        assert.deepEqual([state.status, state.headers.range], [204, "0-20"]);
        const second = await chunk(state.headers.location ?? "", two, "21-41");
        assert.deepEqual([second.status, second.headers.range], [202, "0-41"]);
        assert.equal((await finish(second.headers.location ?? "", digest, "")).status, 201);
      });
      await t.test("the last chunk can be sent with the PUT", async () => {
        const [one, two] = [randomBytes(21), randomBytes(21)];
        const first = await client.send("PATCH", await begin(), { headers: { ...OCTETS, "content-range": "0-20" }, body: one });
        const headers = { ...OCTETS, "content-range": "21-41" };
        const path = `${first.headers.location}?digest=${digestOf(Buffer.concat([one, two]))}`;
        assert.equal((await client.send("PUT", path, { headers, body: two })).status, 201);
      });
      await t.test("a blob is mounted from another repository, or else an upload begins", async () => {
        const without = await client.send("POST", `${OTHER}/blobs/uploads/?mount=${layer.digest}`);
        assert.equal(without.status, 202);
        const mounted = await client.send("POST", `${OTHER}/blobs/uploads/?mount=${layer.digest}&from=${NAME}`);
        assert.deepEqual([mounted.status, mounted.headers.location], [201, `/v2/${OTHER}/blobs/${layer.digest}`]);
        assert.equal((await client.send("GET", mounted.headers.location ?? "")).status, 200);
        const absent = await client.send("POST", `${OTHER}/blobs/uploads/?mount=${ABSENT}&from=${NAME}`);
        assert.equal(absent.status, 202);
        assert.match(absent.headers.location ?? "", new RegExp(`^/v2/${OTHER}/blobs/uploads/[^/]+$`));
      });
      await t.test("a manifest is accepted under several tags, even without layers", async () => {
        const { config, content, digest } = await imageOf("push");
        for (const tag of ["test0", "test1", "test2", "test3"]) {
          const put = await pushManifest(tag, content);
          assert.deepEqual([put.status, put.headers.location], [201, `/v2/${NAME}/manifests/${digest}`]);
        }
        assert.equal((await client.send("GET", `${NAME}/manifests/${digest}`)).status, 200);
        const empty = JSON.stringify({ schemaVersion: 2, config, layers: [] });
        assert.equal((await pushManifest("emptylayer", empty)).status, 201);
        for (const manifest of [digest, digestOf(empty)])
          assert.equal((await client.send("DELETE", `${NAME}/manifests/${manifest}`)).status, 202);
        assert.equal((await client.send("DELETE", `${NAME}/blobs/${config.digest}`)).status, 202);
      });
    });

    await t.test("the registry lists tags and referrers", async (t) => {
      const image = await imageOf("discovery");
      await t.test("tags are listed in order and in pages", async () => {
        for (const tag of ["test3", "test1", "test0", "test2"]) await pushManifest(tag, image.content);
        assert.deepEqual((await tags()).tags, ["test0", "test1", "test2", "test3"]);
        const page = await client.send("GET", `${NAME}/tags/list?n=2`);
        assert.deepEqual((page.json() as { tags: string[] }).tags, ["test0", "test1"]);
        assert.equal(page.headers.link, `</v2/${NAME}/tags/list?n=2&last=test1>; rel="next"`);
        assert.deepEqual((await tags("?n=2&last=test1")).tags, ["test2", "test3"]);
        assert.deepEqual((await tags("?last=test2")).tags, ["test3"]);
        const none = await client.send("GET", `${NAME}/tags/list?n=0`);
        assert.deepEqual([(none.json() as { tags: string[] }).tags, none.headers.link], [[], undefined]);
      });
      await t.test("referrers are found by their subject, which may be pushed later or never", async () => {
        const subject = { mediaType: MANIFEST, digest: image.digest, size: image.content.length };
        await pushed("{}", EMPTY.mediaType);
        const [a, b] = [await pushed("artifact a", "application/vnd.a"), await pushed("artifact b", "application/vnd.b")];
        const artifact = (fields: object, note?: string) =>
          JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, subject, ...(note && { annotations: { note } }), ...fields });
        const contents = [
          artifact({ config: a, layers: [EMPTY] }, "config a"),
          artifact({ artifactType: "application/vnd.a", config: EMPTY, layers: [a] }, "layer a"),
          artifact({ config: b, layers: [EMPTY] }, "config b"),
          artifact({ artifactType: "application/vnd.b", config: EMPTY, layers: [b] }, "layer b"),
        ];
        const index = JSON.stringify({
          schemaVersion: 2,
          mediaType: INDEX,
          artifactType: "application/vnd.index",
          manifests: [],
          subject,
          annotations: { note: "index" },
        });
        const pushReferrer = async (content: string, type: string, of: string) => {
          const answer = await pushManifest(digestOf(content), content, type);
          assert.deepEqual([answer.status, answer.headers["oci-subject"]], [201, of]);
        };
        for (const content of contents) await pushReferrer(content, MANIFEST, image.digest);
        await pushReferrer(index, INDEX, image.digest);
        const lonely = artifact({ artifactType: "application/vnd.b", config: EMPTY, layers: [b], subject: { ...subject, digest: ABSENT } });
        await pushReferrer(lonely, MANIFEST, ABSENT);

        const found = await referrersOf(image.digest);
        assert.equal(found.answer.headers["content-type"], INDEX);
        assert.deepEqual(found.notes, ["config a", "config b", "index", "layer a", "layer b"]);
        assert.deepEqual(found.types, ["a", "a", "b", "b", "index"]);
        const filtered = await referrersOf(image.digest, "?artifactType=application/vnd.a");
        assert.equal(filtered.answer.headers["oci-filters-applied"], "artifactType");
        assert.deepEqual(filtered.notes, ["config a", "layer a"]);
        assert.deepEqual((await referrersOf(ABSENT)).digests, [digestOf(lonely)]);
        assert.deepEqual((await referrersOf(digestOf("nothing"))).digests, []);
      });
      async function referrersOf(digest: string, query = "") {
        const answer: Answer = await client.send("GET", `${NAME}/referrers/${digest}${query}`);
        assert.equal(answer.status, 200);
        type Found = { digest: string; artifactType?: string; annotations?: { note: string } };
        const { manifests } = answer.json() as { manifests: Found[] };
        return {
          answer,
          digests: manifests.map((found) => found.digest),
          notes: manifests.map((found) => found.annotations?.note).sort(),
          types: manifests.map((found) => found.artifactType?.replace("application/vnd.", "")).sort(),
        };
      }
    });

    await t.test("the registry deletes content", async (t) => {
      const { config, content, digest } = await imageOf("management");
      assert.equal((await pushManifest("tagtest0", content)).status, 201);
      await t.test("deleting a tag keeps its manifest, and deleting a manifest deletes its tags", async () => {
        assert.equal((await client.send("DELETE", `${NAME}/manifests/tagtest0`)).status, 202);
        assert.equal((await client.send("GET", `${NAME}/manifests/tagtest0`)).status, 404);
        assert.equal((await client.send("GET", `${NAME}/manifests/${digest}`)).status, 200);
        await pushManifest("tagtest1", content);
        assert.equal((await client.send("DELETE", `${NAME}/manifests/${digest}`)).status, 202);
        for (const reference of ["tagtest1", digest])
          assert.equal((await client.send("GET", `${NAME}/manifests/${reference}`)).status, 404);
        assert.equal((await client.send("DELETE", `${NAME}/manifests/${digest}`)).status, 404);
        assert.deepEqual((await tags()).tags, ["test0", "test1", "test2", "test3"]);
      });
      await t.test("a blob can be deleted when no manifest refers to it", async () => {
        assert.equal((await client.send("DELETE", `${NAME}/blobs/${layer.digest}`)).status, 405);
        assert.equal((await client.send("DELETE", `${NAME}/blobs/${config.digest}`)).status, 202);
        assert.equal((await client.send("GET", `${NAME}/blobs/${config.digest}`)).status, 404);
        assert.equal((await client.send("DELETE", `${NAME}/blobs/${config.digest}`)).status, 404);
      });
    });
  });
}
