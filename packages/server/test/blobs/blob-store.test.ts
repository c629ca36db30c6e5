/** Every implementation of the blob store keeps the promises of the interface. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { PassThrough, Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import { OwnedChunks } from "../../src/blobs/file-stream.ts";
import { type BlobStore, DigestMismatch, NoSuchBlob, NoSuchUpload, RangeMismatch, type UploadUse } from "../../src/blobs/store.ts";
import { type BlobPlace, createFolderPlace, createS3Place, createVersitygwPlace } from "../harness/blobs/blob-stores.ts";
import fc from "../harness/property.ts";

/** Path of a real S3 service, which `.ci/versitygw` builds where Go is. */
const VERSITYGW = process.env.HOLT_TEST_VERSITYGW;

const places: Readonly<Record<string, () => Promise<BlobPlace>>> = {
  "a folder": createFolderPlace,
  "S3 with SQLite": () => createS3Place("sqlite"),
  "S3 with PostgreSQL": () => createS3Place("postgres"),
  ...(VERSITYGW && { "a bucket of versitygw": () => createVersitygwPlace(VERSITYGW) }),
};

const stream = (...chunks: Buffer[]) => Readable.from(chunks, { objectMode: false });
const MIB = 1024 * 1024;
let serial = 0;
const newUpload = () => `upload-${serial++}`;

for (const [name, open] of Object.entries(places)) {
  describe(`the blob store in ${name}`, () => {
    let place: BlobPlace;
    let blobs: BlobStore;
    before(async () => {
      place = await open();
      blobs = place.open();
    });
    after(() => place[Symbol.asyncDispose]());

    const bytesOf = async (digest: string, range?: { start: number; end: number }) => buffer(await blobs.read(digest, range));

    async function push(content: Buffer, { digest = digestOf(content), use }: { digest?: string; use?: UploadUse } = {}): Promise<string> {
      const upload = newUpload();
      assert.equal(await blobs.append(upload, stream(content), 0, use), content.length);
      assert.deepEqual(await blobs.commit(upload, digest), { size: content.length });
      await blobs.abort(upload);
      return digest;
    }

    test("an upload in any chunks becomes the blob of its digest, with either algorithm", async () => {
      const property = fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 4 }),
        fc.constantFrom("sha256" as const, "sha512" as const),
        async (appends, algorithm) => {
          const upload = newUpload();
          let size = 0;
          for (const content of [new Uint8Array(0), ...appends]) {
            const middle = content.length >> 1;
            const chunks = [content.subarray(0, middle), content.subarray(middle)].map((chunk) => Buffer.from(chunk));
            size += content.length;
            const given = stream(...chunks.filter((chunk) => chunk.length > 0));
            assert.equal(await blobs.append(upload, given, size - content.length), size);
            assert.equal(await blobs.sizeOfUpload(upload), size);
          }
          const whole = Buffer.concat(appends);
          const digest = digestOf(whole, algorithm);
          assert.deepEqual(await blobs.commit(upload, digest), { size });
          await blobs.abort(upload);
          assert.equal(await blobs.sizeOfUpload(upload), undefined);
          assert.deepEqual(await bytesOf(digest), whole);
          assert.equal((await blobs.stat(digest))?.size, size);
        },
      );
      await fc.assert(property, { numRuns: 10 });
      assert.deepEqual(await place.leftovers(), []);
    });

    test("blobs around the size of a part arrive whole, in one request or in several", async () => {
      for (const size of [0, 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 20 * MIB]) {
        const content = randomBytes(size);
        for (const use of ["whole", "resumable"] as const) {
          const digest = await push(content, { use });
          assert.ok((await bytesOf(digest)).equals(content), `${size} bytes, ${use}`);
          await blobs.remove(digest);
        }
      }
      assert.deepEqual(await place.leftovers(), []);
    });

    test("an upload of many parts continues on another server at any size", async () => {
      const content = randomBytes(21 * MIB);
      const upload = newUpload();
      const cuts = [0, 3 * MIB, 3 * MIB, 8 * MIB, 17 * MIB, content.length];
      for (const [index, end] of cuts.slice(1).entries()) {
        const server = place.open();
        assert.equal(await server.append(upload, stream(content.subarray(cuts[index], end)), cuts[index] ?? 0), end);
      }
      const other = place.open();
      assert.equal(await other.sizeOfUpload(upload), content.length);
      await other.commit(upload, digestOf(content));
      await place.open().abort(upload);
      assert.ok((await bytesOf(digestOf(content))).equals(content));
      assert.deepEqual(await place.leftovers(), []);
    });

    test("an upload with a wrong digest is deleted and creates no blob", async () => {
      for (const use of ["whole", "resumable"] as const) {
        for (const size of [100, 9 * MIB]) {
          const upload = newUpload();
          const given = randomBytes(size);
          const wanted = digestOf(randomBytes(100));
          await blobs.append(upload, stream(given), 0, use);
          await assert.rejects(blobs.commit(upload, wanted), DigestMismatch);
          assert.equal(await blobs.sizeOfUpload(upload), undefined);
          assert.equal(await blobs.stat(wanted), undefined);
          assert.equal(await blobs.stat(digestOf(given)), undefined);
        }
      }
      assert.deepEqual(await place.leftovers(), []);
    });

    test("an append at a wrong offset is refused with the current size", async () => {
      const upload = newUpload();
      await assert.rejects(
        blobs.append(upload, stream(Buffer.from("x")), 5),
        (error) => error instanceof RangeMismatch && error.size === 0,
      );
      await blobs.append(upload, stream(Buffer.from("hello")), 0);
      for (const offset of [0, 4, 6]) {
        const request = stream(Buffer.from("x"));
        await assert.rejects(blobs.append(upload, request, offset), (error) => error instanceof RangeMismatch && error.size === 5);
        assert.equal(request.destroyed, false);
      }
      assert.equal(await blobs.sizeOfUpload(upload), 5);
      await blobs.abort(upload);
    });

    test("the second of two concurrent appends is refused and the first continues", async () => {
      const upload = newUpload();
      const slow = new PassThrough();
      const first = blobs.append(upload, slow, 0);
      slow.write("hello ");
      await assert.rejects(blobs.append(upload, stream(Buffer.from("x")), 0), RangeMismatch);
      slow.end("world");
      assert.equal(await first, 11);
      await blobs.commit(upload, digestOf(Buffer.from("hello world")));
      await blobs.abort(upload);
    });

    test("the bytes before a lost connection are kept and the rest can be appended", async () => {
      const content = randomBytes(9 * MIB);
      const upload = newUpload();
      const lost = new PassThrough();
      const first = blobs.append(upload, lost, 0);
      lost.write(content.subarray(0, 700_000), () => lost.destroy(new Error("connection reset")));
      const size = await first;
      assert.ok(size <= 700_000);
      await blobs.append(upload, stream(content.subarray(size)), size);
      await blobs.commit(upload, digestOf(content));
      await blobs.abort(upload);
      assert.ok((await bytesOf(digestOf(content))).equals(content));
    });

    test("a commit can be repeated after the blob was removed, until the upload is aborted", async () => {
      for (const use of ["whole", "resumable"] as const) {
        for (const size of [1000, 9 * MIB]) {
          const content = randomBytes(size);
          const digest = digestOf(content);
          const upload = newUpload();
          await blobs.append(upload, stream(content), 0, use);
          await blobs.commit(upload, digest);
          await blobs.remove(digest);
          assert.equal(await blobs.stat(digest), undefined);
          await blobs.commit(upload, digest);
          await blobs.abort(upload);
          assert.ok((await bytesOf(digest)).equals(content));
          await assert.rejects(blobs.commit(upload, digest), NoSuchUpload);
        }
      }
    });

    test("a committed upload accepts no more bytes", async () => {
      const content = randomBytes(1000);
      const upload = newUpload();
      await blobs.append(upload, stream(content), 0);
      await blobs.commit(upload, digestOf(content));
      await assert.rejects(blobs.append(upload, stream(Buffer.from("x")), 1000), NoSuchUpload);
      await blobs.abort(upload);
      assert.deepEqual(await bytesOf(digestOf(content)), content);
    });

    test("any range is read and sent exactly, at any speed of the reader", async () => {
      const content = randomBytes(1_200_000);
      const digest = await push(content);
      for (const [start, end] of [
        [0, content.length - 1],
        [0, 0],
        [262_143, 262_144],
        [700_000, 1_199_999],
      ] as const) {
        assert.ok((await bytesOf(digest, { start, end })).equals(content.subarray(start, end + 1)));
        const received: Buffer[] = [];
        const slow = new Writable({
          write(chunk: Buffer, _encoding, done) {
            setImmediate(() => {
              received.push(Buffer.from(chunk));
              done();
            });
          },
        });
        const finished = once(slow, "finish");
        await blobs.send(digest, { start, end }, () => slow);
        await finished;
        assert.ok(Buffer.concat(received).equals(content.subarray(start, end + 1)));
      }
    });

    test("a departing reader ends the transfer, and a missing blob is an error before it begins", async () => {
      const digest = await push(randomBytes(1_000_000));
      const stuck = new Writable({ write: () => void setImmediate(() => stuck.destroy()) });
      await blobs.send(digest, { start: 0, end: 999_999 }, () => stuck);
      const nobody = () => assert.fail("there is nothing to send");
      await assert.rejects(blobs.send(digestOf(Buffer.from("absent")), { start: 0, end: 1 }, nobody), NoSuchBlob);
      await assert.rejects(blobs.read(digestOf(Buffer.from("absent"))), NoSuchBlob);
    });

    test("parsers get a file with the bytes of a blob", async () => {
      for (const size of [0, 100_000]) {
        const content = randomBytes(size);
        const digest = await push(content);
        const read = await blobs.withFile(digest, size, async (path) => (await readFile(path)).subarray(0, size));
        assert.deepEqual(read, content);
      }
    });

    test("chunks without another owner are copied before their memory is released", async () => {
      const content = randomBytes(9_000_000);
      const chunks = new OwnedChunks();
      for (let at = 0; at < content.length; at += 700_000) chunks.write(Uint8Array.from(content.subarray(at, at + 700_000)));
      chunks.end();
      const upload = newUpload();
      assert.equal(await blobs.append(upload, chunks, 0), content.length);
      await blobs.commit(upload, digestOf(content));
      await blobs.abort(upload);
      assert.ok((await bytesOf(digestOf(content))).equals(content));
    });

    test("no name of an upload or a blob leaves its place", async () => {
      for (const upload of ["../outside", "..", ".", "", "a/b", "a\0b", "/etc/passwd", "A", "ü", "x".repeat(129)]) {
        await assert.rejects(blobs.append(upload, stream(Buffer.from("x")), 0), NoSuchUpload, upload);
        await assert.rejects(blobs.commit(upload, digestOf(Buffer.from("secret"))), NoSuchUpload, upload);
        assert.equal(await blobs.sizeOfUpload(upload), undefined);
        await blobs.abort(upload);
      }
      for (const digest of ["../../outside", "sha256:../../outside", `sha256:../../../outside${"a".repeat(48)}`, ""]) {
        await assert.rejects(blobs.read(digest), NoSuchBlob);
        await assert.rejects(blobs.commit("some-upload", digest), DigestMismatch);
        assert.equal(await blobs.stat(digest), undefined);
        await blobs.remove(digest);
      }
    });

    test("abandoned uploads are stale and leave nothing behind, also if their server is gone", async () => {
      for (const size of [0, 10, 9 * MIB, 17 * MIB]) await place.open().append(newUpload(), stream(randomBytes(size)), 0);
      await place.open().append(newUpload(), stream(randomBytes(9 * MIB)), 0, "whole");
      const stale = async (before: string) => {
        const found: string[] = [];
        for await (const upload of place.open().staleUploads(new Date(before))) found.push(upload);
        return found;
      };
      assert.deepEqual(await stale("2000-01-01"), []);
      const found = await stale("9999-01-01");
      assert.equal(found.length, 5);
      for (const upload of found) await place.open().abort(upload);
      assert.deepEqual(await place.leftovers(), []);
    });

    test("all blobs and only blobs are listed in order, starting from any of them", async () => {
      await using own = await open();
      blobs = own.open();
      const digests: string[] = [];
      for (let i = 0; i < 12; i++) {
        const content = Buffer.from([i]);
        digests.push(await push(content, { digest: digestOf(content, i % 4 === 0 ? "sha512" : "sha256") }));
      }
      digests.sort();
      const listed = async (from?: string) => {
        const all: string[] = [];
        for await (const batch of own.open().list(from)) all.push(...batch.map(({ digest }) => digest));
        return all;
      };
      assert.deepEqual(await listed(), digests);
      for (const i of [0, 7, 8, 9, 11]) assert.deepEqual(await listed(digests[i]), digests.slice(i + 1));
      blobs = place.open();
    });
  });
}
