/** Objects that nobody reads to their end leave no open connection. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { test } from "node:test";
import { readObject } from "./read-object.ts";

/** A bucket with one object, whose body ends only if its reader destroys it. */
function bucketOf(body: Readable) {
  return { get: async () => ({ body, size: 1000 }) };
}

test("the connection of an object is closed if its stream is destroyed before the first byte is read", async () => {
  const body = new Readable({ read() {} });
  const stream = await readObject(bucketOf(body), "blobs/x");
  stream.destroy();
  await once(stream, "close");
  assert.equal(body.destroyed, true);
});

test("the connection of an object is closed if its stream is destroyed while a reader waits for bytes", async () => {
  const body = new Readable({ read() {} });
  const stream = await readObject(bucketOf(body), "blobs/x");
  stream.resume();
  body.push("some");
  await once(stream, "data");
  stream.destroy();
  await once(stream, "close");
  assert.equal(body.destroyed, true);
});
