/** A push to S3 holds few parts in memory. The file has one test, so that nothing else takes memory. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createS3Place } from "../harness/blobs/blob-stores.ts";

const MIB = 1024 * 1024;

test("a push of any size takes at most 32 MiB of memory", async () => {
  await using place = await createS3Place();
  const blobs = place.open();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // The store of the S3 server in this process does not count.
  const stored = () => place.s3.objects.multiparts().reduce((sum, { parts }) => sum + parts.size, 0) * 8 * MIB;
  const used = () => {
    // The second collection waits for the memory that the first one frees.
    collect();
    collect();
    return process.memoryUsage().arrayBuffers - stored();
  };
  const chunk = randomBytes(64 * 1024);
  const push = async (upload: string, size: number): Promise<number> => {
    let left = size;
    let peak = 0;
    place.s3.fault = ({ operation }) => {
      if (operation === "UploadPart") peak = Math.max(peak, used());
      return undefined;
    };
    const bytes = new Readable({
      read() {
        this.push(left > 0 ? Buffer.from(chunk) : null);
        left -= chunk.length;
      },
    });
    assert.equal(await blobs.append(upload, bytes, 0), size);
    await blobs.abort(upload);
    return peak;
  };
  const start = used();
  const peak = (await push("large", 96 * MIB)) - start;
  assert.ok(peak > 8 * MIB && peak < 32 * MIB, `${Math.round(peak / MIB)} MiB`);
});
