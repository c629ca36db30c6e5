/** Tests how packages are split by their advisories. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chunkByCandidates, MAX_CANDIDATES } from "./candidate-chunks.ts";

const ofSource = (name: string, match_origin: string) => ({ match_name: name, match_origin });

test("packages of one source are split by the statements about all of them", () => {
  const packages = Array.from({ length: 100 }, (_, i) => ofSource(`linux-${i}`, "linux"));
  const sizes = (count: number) => chunkByCandidates(packages, new Map([["linux", count]])).map(({ length }) => length);
  assert.deepEqual(sizes(MAX_CANDIDATES / 100), [100]);
  assert.deepEqual(sizes(MAX_CANDIDATES / 50), [50, 50]);
  assert.deepEqual(sizes(2 * MAX_CANDIDATES), Array(100).fill(1));
});

test("packages without advisories share a chunk", () => {
  const packages = Array.from({ length: 100 }, (_, i) => ofSource(`a-${i}`, "a"));
  assert.equal(chunkByCandidates(packages, new Map()).length, 1);
});

test("packages whose advisories do not fit together are in different chunks, and none is left out", () => {
  const packages = ["a", "b", "c"].map((name) => ofSource(name, name));
  const counts = new Map(packages.map(({ match_name }) => [match_name, MAX_CANDIDATES / 2]));
  const chunks = chunkByCandidates(packages, counts);
  assert.deepEqual(
    chunks.map((chunk) => chunk.map(({ match_name }) => match_name)),
    [["a", "b"], ["c"]],
  );
});

test("no packages are no chunks", () => {
  assert.deepEqual(chunkByCandidates([], new Map()), []);
});
