/** Faults of S3 neither damage blobs nor leave anything behind, and callers can repeat what failed. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import type { S3Blobs } from "../../src/blobs/s3/s3-blobs.ts";
import { NoSuchUpload, RangeMismatch } from "../../src/blobs/store.ts";
import { Code, HoltError } from "../../src/lib/errors.ts";
import { createS3Place, type S3Place } from "../harness/blobs/blob-stores.ts";
import type { S3Fault, S3Request } from "../harness/blobs/s3-server.ts";

const MIB = 1024 * 1024;
const stream = (content: Buffer) =>
  Readable.from(
    (function* () {
      for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
    })(),
    { objectMode: false },
  );
const isUnavailable = (error: unknown) => error instanceof HoltError && error.code === Code.UNAVAILABLE;

let place: S3Place;
let blobs: S3Blobs;
let serial = 0;
const newUpload = () => `faults-${serial++}`;

before(async () => {
  place = await createS3Place();
});
after(() => place[Symbol.asyncDispose]());
beforeEach(() => {
  blobs = place.open();
});
afterEach(() => {
  place.s3.fault = undefined;
  place.s3.skewMs = 0;
  place.s3.objects.capacity = Number.POSITIVE_INFINITY;
});

/** Injects the fault into the first requests of each operation. */
function failFirst(times: number, fault: S3Fault, operation = /./): () => number {
  const seen = new Map<string, number>();
  let count = 0;
  place.s3.fault = (request) => {
    const earlier = seen.get(request.operation) ?? 0;
    seen.set(request.operation, earlier + 1);
    if (earlier >= times || !operation.test(request.operation)) return undefined;
    count++;
    return fault;
  };
  return () => count;
}

async function push(content: Buffer, use: "whole" | "resumable" = "resumable"): Promise<string> {
  const upload = newUpload();
  const digest = digestOf(content);
  await blobs.append(upload, stream(content), 0, use);
  await blobs.commit(upload, digest);
  await blobs.abort(upload);
  return digest;
}

describe("a push and a pull", () => {
  const faults: Readonly<Record<string, S3Fault>> = {
    "503 SlowDown": { code: "SlowDown" },
    "500 InternalError": { code: "InternalError", status: 500 },
    "a cut connection": { cut: 0 },
    "a lost answer": "lose",
    "a request without an answer": "hang",
  };
  for (const [name, fault] of Object.entries(faults)) {
    test(`survive ${name} to the first request of each operation`, async () => {
      // Only here is a short timeout harmless: on a slow machine it repeats requests that S3 answers late.
      if (fault === "hang") blobs = place.open({ timeoutMs: 1000 });
      for (const use of ["whole", "resumable"] as const) {
        for (const size of [1000, 9 * MIB]) {
          const faulted = failFirst(1, fault);
          const content = randomBytes(size);
          const digest = await push(content, use);
          assert.ok((await buffer(await blobs.read(digest))).equals(content));
          assert.ok(faulted() > 0);
          place.s3.fault = undefined;
          assert.deepEqual(await place.leftovers(), []);
        }
      }
    });
  }

  test("survive damaged requests, whose checksums S3 refuses", async () => {
    const faulted = failFirst(1, "damage", /^(PutObject|UploadPart)$/);
    for (const size of [1000, 9 * MIB]) {
      const content = randomBytes(size);
      assert.ok((await buffer(await blobs.read(await push(content)))).equals(content));
    }
    assert.equal(faulted(), 2);
  });

  test("survive a clock that differs by an hour", async () => {
    place.s3.skewMs = 3_600_000;
    const content = randomBytes(1000);
    assert.deepEqual(await buffer(await blobs.read(await push(content))), content);
  });
});

test("a download continues after each connection that was cut within the body", async () => {
  const content = randomBytes(MIB);
  const digest = await push(content);
  failFirst(4, { cut: 200_000 }, /GetObject/);
  assert.ok((await buffer(await blobs.read(digest, { start: 5, end: MIB - 3 }))).equals(content.subarray(5, MIB - 2)));
});

test("a download from a bucket that sends nothing more ends with an error and not with a short body", async () => {
  const digest = await push(randomBytes(MIB));
  let isFirst = true;
  place.s3.fault = ({ operation }) => {
    if (operation !== "GetObject") return undefined;
    const fault = isFirst ? { cut: 1000 } : { cut: 0 };
    isFirst = false;
    return fault;
  };
  await assert.rejects(buffer(await blobs.read(digest)), isUnavailable);
});

describe("an answer with status 200 that S3 did not send", () => {
  for (const [operation, size] of [
    ["PutObject", 1000],
    ["CreateMultipartUpload", 9 * MIB],
    ["UploadPart", 9 * MIB],
    ["CompleteMultipartUpload", 9 * MIB],
    ["CopyObject", 9 * MIB],
  ] as const)
    test(`a blob is not stored if the answer to ${operation} is a page of a proxy`, async () => {
      place.s3.fault = (request) => (request.operation === operation ? "portal" : undefined);
      const content = randomBytes(size);
      const upload = newUpload();
      await assert.rejects(async () => {
        await blobs.append(upload, stream(content), 0);
        await blobs.commit(upload, digestOf(content));
      }, isUnavailable);
      assert.equal(await blobs.stat(digestOf(content)), undefined);
      place.s3.fault = undefined;
      await blobs.abort(upload);
      assert.deepEqual(await place.leftovers().then((keys) => keys.filter((key) => key.includes(upload))), []);
    });

  test("a page of a proxy is not read as the content of a blob", async () => {
    const digest = await push(randomBytes(MIB));
    place.s3.fault = ({ operation }) => (operation === "GetObject" ? "portal" : undefined);
    await assert.rejects(blobs.read(digest), isUnavailable);
    await assert.rejects(blobs.read(digest, { start: 5, end: 9 }), isUnavailable);
  });

  test("a page of a proxy is not read as the rest of a blob whose connection was cut", async () => {
    const content = randomBytes(MIB);
    const digest = await push(content);
    let isFirst = true;
    place.s3.fault = ({ operation }) => {
      if (operation !== "GetObject") return undefined;
      const fault: S3Fault = isFirst ? { cut: 1000 } : "portal";
      isFirst = false;
      return fault;
    };
    await assert.rejects(buffer(await blobs.read(digest)), isUnavailable);
  });
});

test("refused credentials make calls UNAVAILABLE, and the upload continues with new ones", async () => {
  const content = randomBytes(9 * MIB);
  const upload = newUpload();
  await blobs.append(upload, stream(content.subarray(0, MIB)), 0);
  place.s3.fault = () => ({ code: "ExpiredToken", status: 400 });
  await assert.rejects(blobs.append(upload, stream(content.subarray(MIB)), MIB), isUnavailable);
  await assert.rejects(blobs.commit(upload, digestOf(content)), isUnavailable);
  place.s3.fault = undefined;
  assert.equal(await blobs.sizeOfUpload(upload), MIB);
  await blobs.append(upload, stream(content.subarray(MIB)), MIB);
  await blobs.commit(upload, digestOf(content));
  await blobs.abort(upload);
  assert.ok((await buffer(await blobs.read(digestOf(content)))).equals(content));
  assert.deepEqual(await place.leftovers().then((keys) => keys.filter((key) => key.includes(upload))), []);
});

test("a full bucket makes a push UNAVAILABLE, keeps its acknowledged bytes, and takes smaller ones", async () => {
  const content = randomBytes(48 * MIB);
  const upload = newUpload();
  const request = stream(content);
  const used = place.s3.objects.keys().reduce((sum, key) => sum + place.s3.objects.get(key).bytes.length, 0);
  place.s3.objects.capacity = used + 10 * MIB;
  await assert.rejects(blobs.append(upload, request, 0), /there is no space left for blobs/);
  assert.equal(request.destroyed, false);
  assert.equal(await blobs.sizeOfUpload(upload), 8 * MIB);
  const small = await push(randomBytes(1000));
  assert.equal((await blobs.stat(small))?.size, 1000);
  place.s3.objects.capacity = Number.POSITIVE_INFINITY;
  await blobs.append(upload, stream(content.subarray(8 * MIB)), 8 * MIB);
  await blobs.commit(upload, digestOf(content));
  await blobs.abort(upload);
  assert.ok((await buffer(await blobs.read(digestOf(content)))).equals(content));
});

test("a commit that failed at any request can be repeated on another server", async () => {
  for (const size of [1000, 9 * MIB, 16 * MIB]) {
    for (let failing = 0; ; failing++) {
      const content = randomBytes(size);
      const upload = newUpload();
      await blobs.append(upload, stream(content), 0);
      let count = 0;
      place.s3.fault = () => (count++ === failing ? { code: "AccessDenied", status: 403 } : undefined);
      const failure = await blobs.commit(upload, digestOf(content)).then(
        () => undefined,
        (error: unknown) => error,
      );
      place.s3.fault = undefined;
      const other = place.open();
      await other.commit(upload, digestOf(content));
      await other.abort(upload);
      assert.ok((await buffer(await blobs.read(digestOf(content)))).equals(content));
      assert.deepEqual(
        (await place.leftovers()).filter((key) => key.includes(upload)),
        [],
      );
      if (failure === undefined) break;
      assert.ok(isUnavailable(failure));
    }
  }
});

test("an upload takes no more bytes once a commit of its parts has failed, and the commit can be repeated", async () => {
  for (const operation of ["CompleteMultipartUpload", "CopyObject"]) {
    const content = randomBytes(9 * MIB);
    const upload = newUpload();
    await blobs.append(upload, stream(content), 0);
    place.s3.fault = (request) => (request.operation === operation ? { code: "AccessDenied", status: 403 } : undefined);
    await assert.rejects(blobs.commit(upload, digestOf(content)), isUnavailable);
    place.s3.fault = undefined;
    const other = place.open();
    await assert.rejects(other.append(upload, stream(randomBytes(1000)), content.length), NoSuchUpload, operation);
    await other.commit(upload, digestOf(content));
    await other.abort(upload);
    assert.ok((await buffer(await blobs.read(digestOf(content)))).equals(content));
  }
});

test("a repeated commit of an upload that only one server continues does not store its end twice", async () => {
  const content = randomBytes(15 * MIB);
  const upload = newUpload();
  await blobs.append(upload, stream(content), 0, "whole");
  place.s3.fault = ({ operation }) => (operation === "CompleteMultipartUpload" ? { code: "AccessDenied", status: 403 } : undefined);
  await assert.rejects(blobs.commit(upload, digestOf(content)), isUnavailable);
  place.s3.fault = undefined;
  await blobs.commit(upload, digestOf(content));
  await blobs.abort(upload);
  assert.ok((await buffer(await blobs.read(digestOf(content)))).equals(content));
});

test("a server that lost its hold on an upload cannot add to it", async () => {
  const upload = newUpload();
  const slow = new Readable({ read() {} });
  const first = blobs.append(upload, slow, 0);
  slow.push(randomBytes(MIB));
  await place.store.transaction((db) => db.updateTable("blob_upload").set({ holder_until: "2000-01-01T00:00:00.000Z" }).execute());
  const content = randomBytes(2 * MIB);
  const other = place.open();
  await other.append(upload, stream(content), 0);
  slow.push(null);
  await assert.rejects(first, RangeMismatch);
  await other.commit(upload, digestOf(content));
  await other.abort(upload);
  assert.ok((await buffer(await blobs.read(digestOf(content)))).equals(content));
});

describe("the number of requests", () => {
  const requests = async (work: () => Promise<unknown>): Promise<string[]> => {
    const begun = place.s3.requests.length;
    await work();
    return place.s3.requests.slice(begun).map(({ operation }: S3Request) => operation);
  };

  test("a push of a small blob sends one request to S3", async () => {
    assert.deepEqual(await requests(() => push(randomBytes(1000), "whole")), ["PutObject"]);
    assert.deepEqual(await requests(() => push(randomBytes(1000))), ["PutObject", "CopyObject", "DeleteObject"]);
  });

  test("a push of a large blob sends one request to S3 per part and four others, and none reads it", async () => {
    const sent = await requests(() => push(randomBytes(17 * MIB), "whole"));
    const expected = ["CreateMultipartUpload", "UploadPart", "UploadPart", "UploadPart", "CompleteMultipartUpload", "CopyObject"];
    assert.deepEqual(sent, [...expected, "DeleteObject"]);
  });

  test("looking for lost blobs and for sizes of uploads sends no request to S3", async () => {
    const upload = newUpload();
    await blobs.append(upload, stream(randomBytes(10)), 0);
    assert.deepEqual(await requests(() => Promise.all([blobs.hasLost(), place.open().sizeOfUpload(upload)])), []);
    await blobs.abort(upload);
  });

  test("a list of blobs sends one request to S3 per page", async () => {
    place.s3.objects.pageSize = 3;
    const count = place.s3.objects.keys().filter((key) => key.startsWith("holt/blobs/sha256/")).length;
    const sent = await requests(async () => {
      let listed = 0;
      for await (const batch of blobs.list()) listed += batch.length;
      assert.equal(listed, count);
    });
    place.s3.objects.pageSize = 1000;
    assert.equal(sent.length, Math.ceil(count / 3) + 1);
  });
});
