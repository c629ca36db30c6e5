import assert from "node:assert/strict";
import { test } from "node:test";
import { linesIn } from "./lines-in.ts";

async function* chunksOf(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function allOf(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

test("only line feeds end lines, wherever the chunks end", async () => {
  for (const size of [1, 2, 3, 1000]) {
    for (const [text, lines] of [
      ["", []],
      ["\n", [""]],
      ["one\n\ntwo", ["one", "", "two"]],
      ["a\u2028b\u2029c\u0085d\re\n€\n", ["a\u2028b\u2029c\u0085d\re", "€"]],
    ] as const)
      assert.deepEqual(await allOf(linesIn(chunksOf(text, size))), lines);
  }
});
