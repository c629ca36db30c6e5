/** Acknowledged blobs are complete, and failed uploads leave nothing behind. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import fc from "../../test/harness/property.ts";
import { until } from "../../test/harness/wait.ts";
import { HoltError } from "../lib/errors.ts";
import { createLog } from "../lib/log.ts";
import { digestOf } from "./digest.ts";
import { OwnedChunks } from "./file-stream.ts";
import { createFilesystemBlobs } from "./filesystem.ts";
import { type BlobStore, DigestMismatch, NoSuchBlob, NoSuchUpload, RangeMismatch } from "./store.ts";

const log = createLog("silent");
let dataDir: string;
let blobs: BlobStore;
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "holt-blobs-"));
  blobs = createFilesystemBlobs({ dataDir, log });
});
after(() => rm(dataDir, { recursive: true }));

let serial = 0;
const newUpload = () => `upload-${serial++}`;
const stream = (...chunks: Buffer[]) => Readable.from(chunks, { objectMode: false });
const pathOf = (digest: string, dir = dataDir) => {
  const [algorithm = "", hex = ""] = digest.split(":");
  return join(dir, "blobs", algorithm, hex.slice(0, 2), hex);
};
const bytesOf = async (digest: string, range?: { start: number; end: number }) => buffer(await blobs.read(digest, range));

async function push(store: BlobStore, content: Buffer, digest = digestOf(content)): Promise<string> {
  const upload = newUpload();
  await store.append(upload, stream(content), 0);
  await store.commit(upload, digest);
  await store.abort(upload);
  return digest;
}

test("an upload in any chunks becomes the blob of its digest, with either algorithm", async () => {
  const property = fc.asyncProperty(
    fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 6 }),
    fc.constantFrom("sha256" as const, "sha512" as const),
    async (appends, algorithm) => {
      const upload = newUpload();
      let size = 0;
      for (const content of [new Uint8Array(0), ...appends]) {
        const middle = content.length >> 1;
        const chunks = [content.subarray(0, middle), content.subarray(middle)].map((chunk) => Buffer.from(chunk));
        size += content.length;
        assert.equal(await blobs.append(upload, stream(...chunks.filter((chunk) => chunk.length > 0)), size - content.length), size);
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
  await fc.assert(property, { numRuns: 30 });
});

test("a range includes its first and last byte", async () => {
  const digest = await push(blobs, Buffer.from("0123456789"));
  assert.equal((await bytesOf(digest, { start: 2, end: 4 })).toString(), "234");
  assert.equal((await bytesOf(digest, { start: 9, end: 9 })).toString(), "9");
});

test("an upload with a wrong digest is deleted and creates no blob", async () => {
  const upload = newUpload();
  const wanted = randomBytes(100);
  const given = randomBytes(100);
  await blobs.append(upload, stream(given), 0);
  await assert.rejects(blobs.commit(upload, digestOf(wanted)), DigestMismatch);
  assert.equal(await blobs.sizeOfUpload(upload), undefined);
  assert.equal(await blobs.stat(digestOf(wanted)), undefined);
  assert.equal(await blobs.stat(digestOf(given)), undefined);
  await assert.rejects(blobs.read(digestOf(wanted)), NoSuchBlob);
});

test("an append at a wrong offset is refused with the current size", async () => {
  const upload = newUpload();
  await assert.rejects(blobs.append(upload, stream(Buffer.from("x")), 5), (error) => error instanceof RangeMismatch && error.size === 0);
  await blobs.append(upload, stream(Buffer.from("hello")), 0);
  for (const offset of [0, 4, 6]) {
    const request = stream(Buffer.from("x"));
    await assert.rejects(blobs.append(upload, request, offset), (error) => error instanceof RangeMismatch && error.size === 5);
    assert.equal(request.destroyed, false);
  }
  assert.equal(await blobs.sizeOfUpload(upload), 5);
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
});

test("the bytes before a lost connection are kept and the rest can be appended", async () => {
  const content = randomBytes(1_500_000);
  const upload = newUpload();
  const lost = new PassThrough();
  const first = blobs.append(upload, lost, 0);
  lost.write(content.subarray(0, 700_000));
  await until(async () => ((await blobs.sizeOfUpload(upload)) ?? 0) > 0);
  lost.destroy(new Error("connection reset"));
  const size = await first;
  assert.ok(size > 0 && size <= 700_000);
  await blobs.append(upload, stream(content.subarray(size)), size);
  await blobs.commit(upload, digestOf(content));
  assert.deepEqual(await bytesOf(digestOf(content)), content);
});

test("another server can take over an upload", async () => {
  const content = randomBytes(50_000);
  const upload = newUpload();
  await blobs.append(upload, stream(content.subarray(0, 10_000)), 0);
  const other = createFilesystemBlobs({ dataDir, log });
  await other.append(upload, stream(content.subarray(10_000, 20_000)), 10_000);
  await blobs.append(upload, stream(content.subarray(20_000)), 20_000);
  await other.commit(upload, digestOf(content));
  assert.deepEqual(await bytesOf(digestOf(content)), content);
});

test("an append after the commit does not change the blob", async () => {
  const content = randomBytes(1000);
  const upload = newUpload();
  await blobs.append(upload, stream(content), 0);
  const { size } = await blobs.commit(upload, digestOf(content));
  await assert.rejects(blobs.append(upload, stream(Buffer.from("x")), size), NoSuchUpload);
  const other = createFilesystemBlobs({ dataDir, log });
  await other.append(upload, stream(Buffer.from("more")), size);
  assert.deepEqual(await bytesOf(digestOf(content), { start: 0, end: size - 1 }), content);
});

test("a commit can be repeated after the blob was removed", async () => {
  const content = randomBytes(1000);
  const digest = digestOf(content);
  const upload = newUpload();
  await blobs.append(upload, stream(content), 0);
  await blobs.commit(upload, digest);
  await blobs.remove(digest);
  assert.equal(await blobs.stat(digest), undefined);
  await blobs.commit(upload, digest);
  await blobs.abort(upload);
  assert.deepEqual(await bytesOf(digest), content);
  await blobs.remove(digest);
  await blobs.remove(digest);
  await assert.rejects(blobs.commit(upload, digest), NoSuchUpload);
});

test("a commit whose upload is aborted meanwhile ends with NoSuchUpload", { timeout: 20_000 }, async () => {
  const [upload, content] = [newUpload(), randomBytes(64 * 1024 * 1024)];
  const digest = digestOf(content, "sha512");
  await blobs.append(upload, stream(content), 0);
  // Another server of the same folder aborts it while this one hashes the bytes.
  const commit = assert.rejects(blobs.commit(upload, digest), NoSuchUpload);
  await createFilesystemBlobs({ dataDir, log }).abort(upload);
  await commit;
  assert.equal(await blobs.stat(digest), undefined);
});

test("existing content is stored once and replaced if it is truncated on disk", async () => {
  const content = randomBytes(1000);
  const digest = await push(blobs, content);
  assert.equal(await push(blobs, content), digest);
  await truncate(pathOf(digest), 10);
  await push(blobs, content);
  assert.deepEqual(await bytesOf(digest), content);
});

test("servers that replace a truncated blob by the same upload do not disturb each other", async () => {
  const content = randomBytes(16 * 1024 * 1024);
  const digest = await push(blobs, content);
  await truncate(pathOf(digest), 10);
  const upload = newUpload();
  await blobs.append(upload, stream(content), 0);
  // Neither knows the hash, so both read the file first and copy it at the same time.
  const servers = Array.from({ length: 4 }, () => createFilesystemBlobs({ dataDir, log }));
  await Promise.all(servers.map((server) => server.commit(upload, digest)));
  await blobs.abort(upload);
  assert.deepEqual(await bytesOf(digest), content);
  assert.deepEqual(
    (await readdir(join(dataDir, "uploads"))).filter((name) => name.startsWith(upload)),
    [],
  );
});

test("a reader of a blob can finish after the blob is removed", async () => {
  const content = randomBytes(1_000_000);
  const digest = await push(blobs, content);
  const reading = await blobs.read(digest);
  await blobs.remove(digest);
  assert.deepEqual(await buffer(reading), content);
});

test("any range is sent exactly, at any speed of the reader", async () => {
  const content = randomBytes(1_200_000);
  const digest = await push(blobs, content);
  await appendFile(pathOf(digest), "more than the blob had when it was recorded");
  for (const [start, end] of [
    [0, content.length - 1],
    [0, 0],
    [262_143, 262_144],
    [700_000, 1_199_999],
  ] as const) {
    const received: Buffer[] = [];
    const slow = new Writable({
      write(chunk: Buffer, _encoding, done) {
        // The chunk is copied late and must stay unchanged until then.
        setTimeout(() => {
          received.push(Buffer.from(chunk));
          done();
        }, 2);
      },
    });
    const finished = once(slow, "finish");
    await blobs.send(digest, { start, end }, () => slow);
    await finished;
    assert.ok(Buffer.concat(received).equals(content.subarray(start, end + 1)));
  }
});

test("a departing reader ends the transfer, and a truncated file is an error", async () => {
  const digest = await push(blobs, randomBytes(1_000_000));
  const stuck = new Writable({ write: () => setTimeout(() => stuck.destroy(), 5) });
  await blobs.send(digest, { start: 0, end: 999_999 }, () => stuck);
  await truncate(pathOf(digest), 300_000);
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
  await assert.rejects(
    blobs.send(digest, { start: 0, end: 999_999 }, () => sink),
    /the file ends after 300000 bytes/,
  );
  assert.equal(sink.writableEnded, false);
  const nobody = () => assert.fail("there is nothing to send");
  await assert.rejects(blobs.send(digestOf(Buffer.from("absent")), { start: 0, end: 1 }, nobody), NoSuchBlob);
});

test("chunks without another owner are copied before their memory is released", async () => {
  const content = randomBytes(3_000_000);
  const chunks = new OwnedChunks();
  // Some chunks are larger than a buffer, some end in the middle of one.
  for (let at = 0; at < content.length; at += 700_000) chunks.write(Uint8Array.from(content.subarray(at, at + 700_000)));
  chunks.end();
  const upload = newUpload();
  assert.equal(await blobs.append(upload, chunks, 0), content.length);
  await blobs.commit(upload, digestOf(content));
  assert.ok((await bytesOf(digestOf(content))).equals(content));
});

test("no name of an upload or a blob can leave the folder", async () => {
  const outside = join(dataDir, "outside");
  await writeFile(outside, "secret");
  const names = ["../outside", "..", ".", "", "a/b", "a\0b", "/etc/passwd", "A", "ü", "x".repeat(129)];
  for (const name of names) {
    await assert.rejects(blobs.append(name, stream(Buffer.from("x")), 0), NoSuchUpload, name);
    await assert.rejects(blobs.commit(name, digestOf(Buffer.from("secret"))), NoSuchUpload, name);
    assert.equal(await blobs.sizeOfUpload(name), undefined);
    await blobs.abort(name);
  }
  for (const digest of ["../../outside", "sha256:../../outside", `sha256:../../../outside${"a".repeat(48)}`, ""]) {
    await assert.rejects(blobs.read(digest), NoSuchBlob);
    await assert.rejects(blobs.commit("some-upload", digest), DigestMismatch);
    assert.equal(await blobs.stat(digest), undefined);
    await blobs.remove(digest);
  }
  assert.equal(await readFile(outside, "utf8"), "secret");
});

test("untouched uploads are stale, also if their server is gone", async () => {
  const [old, recent] = [newUpload(), newUpload()];
  for (const upload of [old, recent]) await blobs.append(upload, stream(Buffer.from("x")), 0);
  const longAgo = new Date(Date.now() - 3_600_000);
  await utimes(join(dataDir, "uploads", old), longAgo, longAgo);
  const found: string[] = [];
  for await (const upload of createFilesystemBlobs({ dataDir, log }).staleUploads(new Date(Date.now() - 60_000))) found.push(upload);
  assert.deepEqual(found, [old]);
});

test("all blobs and only blobs are listed in order, starting from any of them", async () => {
  const dir = await mkdtemp(join(dataDir, "list-"));
  const store = createFilesystemBlobs({ dataDir: dir, log });
  const digests: string[] = [];
  for (let i = 0; i < 40; i++)
    digests.push(await push(store, Buffer.from([i]), digestOf(Buffer.from([i]), i % 4 === 0 ? "sha512" : "sha256")));
  digests.sort();
  await appendFile(`${pathOf(digests[0]!, dir)}.bak`, "not a blob");
  const listed = async (after?: string) => {
    const all: string[] = [];
    for await (const batch of store.list(after)) all.push(...batch.map(({ digest }) => digest));
    return all;
  };
  assert.deepEqual(await listed(), digests);
  for (const i of [0, 7, 29, 30, 39]) assert.deepEqual(await listed(digests[i]), digests.slice(i + 1));
});

test("sixteen readers and writers of large blobs use little memory", async () => {
  const size = 24 * 1024 * 1024;
  const chunk = randomBytes(64 * 1024);
  const endless = () => {
    let left = size;
    return new Readable({
      read() {
        this.push(left > 0 ? chunk : null);
        left -= chunk.length;
      },
    });
  };
  const digest = digestOf(Buffer.concat(Array.from({ length: size / chunk.length }, () => chunk)));
  await push(blobs, chunk);
  globalThis.gc?.();
  const start = process.memoryUsage();
  let peak = 0;
  const timer = setInterval(() => {
    // `external` includes them.
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - start.arrayBuffers);
  }, 5);
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      const upload = newUpload();
      await blobs.append(upload, endless(), 0);
      await blobs.commit(upload, digest);
      await blobs.abort(upload);
      const reading = await blobs.read(digest);
      reading.resume();
      await once(reading, "end");
    }),
  );
  clearInterval(timer);
  // All blobs together have 384 MiB. The measurement includes garbage that is not collected yet.
  assert.ok(peak < 192 * 1024 * 1024, `${Math.round(peak / 1024 / 1024)} MiB`);
});

describe("the blob store on a full disk", () => {
  let dir: string;
  let isMounted = false;
  before(async () => {
    dir = await mkdtemp(join(dataDir, "full-"));
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", dir], { stdio: "ignore" });
      isMounted = true;
    } catch {
      // The skipped test reports it.
    }
  });
  after(() => {
    if (isMounted) execFileSync("umount", [dir]);
  });

  test("an upload to a full disk fails with UNAVAILABLE, can be continued, and smaller ones still succeed", async (t) => {
    if (!isMounted) return t.skip("cannot mount a small file system here");
    const store = createFilesystemBlobs({ dataDir: dir, log });
    const small = randomBytes(1_000_000);
    const large = randomBytes(8_000_000);
    const isUnavailable = (error: unknown) =>
      error instanceof HoltError && /UNAVAILABLE|Unavailable: there is no space/.test(error.message);
    const upload = newUpload();
    await store.append(upload, stream(small), 0);
    const request = Readable.from(
      (function* () {
        for (let i = 0; i < large.length; i += 65_536) yield large.subarray(i, i + 65_536);
      })(),
      { objectMode: false },
    );
    await assert.rejects(store.append(upload, request, small.length), isUnavailable);
    assert.equal(request.destroyed, false);
    assert.equal(await store.sizeOfUpload(upload), small.length);
    await store.append(upload, stream(small), small.length);
    const both = Buffer.concat([small, small]);
    await store.commit(upload, digestOf(both));
    await store.abort(upload);
    assert.deepEqual(await buffer(await store.read(digestOf(both))), both);
    const other = newUpload();
    await assert.rejects(store.append(other, stream(large), 0), isUnavailable);
    await store.abort(other);
    assert.deepEqual(await readdir(join(dir, "uploads")), []);
    const digest = await push(store, small);
    assert.ok(existsSync(pathOf(digest, dir)));
  });
});

test("an unusable folder is reported to the operator", () => {
  assert.throws(() => createFilesystemBlobs({ dataDir: "/dev/null", log }), /cannot create a folder for blobs in \/dev\/null/);
});
