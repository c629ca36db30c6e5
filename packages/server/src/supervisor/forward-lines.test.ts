import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { forwardLines } from "./forward-lines.ts";

class Output extends EventEmitter {
  readonly texts: string[] = [];
  isFull = false;
  write(text: string): boolean {
    this.texts.push(text);
    return !this.isFull;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("chunks that end within a line, or within a character, are forwarded as whole lines", async () => {
  const from = new PassThrough();
  const output = new Output();
  forwardLines(from, output);
  const bytes = Buffer.from("one\ntwö\nthree\n");
  for (const chunk of [bytes.subarray(0, 2), bytes.subarray(2, 7), bytes.subarray(7, 8), bytes.subarray(8)]) {
    from.write(chunk);
    await settled();
  }
  assert.deepEqual(output.texts, ["one\n", "twö\nthree\n"]);
});

test("a last line without an end gets one", async () => {
  const from = new PassThrough();
  const output = new Output();
  forwardLines(from, output);
  from.end("a crash");
  await settled();
  assert.deepEqual(output.texts, ["a crash\n"]);
});

test("a line that never ends is cut instead of kept in memory", async () => {
  const from = new PassThrough({ highWaterMark: 8 * 1024 * 1024 });
  const output = new Output();
  forwardLines(from, output);
  from.write("x".repeat(3 * 1024 * 1024));
  await settled();
  assert.ok(output.texts.length > 0);
  assert.ok(output.texts.every((text) => text.endsWith("\n")));
});

test("nothing is read while the output is full", async () => {
  const from = new PassThrough();
  const output = new Output();
  output.isFull = true;
  forwardLines(from, output);
  from.write("one\n");
  await settled();
  from.write("two\n");
  await settled();
  assert.deepEqual(output.texts, ["one\n"]);
  output.isFull = false;
  output.emit("drain");
  await settled();
  assert.deepEqual(output.texts, ["one\n", "two\n"]);
});
