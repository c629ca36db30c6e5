import assert from "node:assert/strict";
import { it } from "node:test";
import { postgresDialect } from "../../db/postgres-dialect.ts";
import { sqliteDialect } from "../../db/sqlite-dialect.ts";
import { readAhead } from "./read-ahead.ts";

const [sqlite, postgres] = [{ dialect: sqliteDialect }, { dialect: postgresDialect }];

it("readAhead reads the next chunks while the consumer works on one, and yields them in order", async () => {
  let done: string[] = [];
  const read = async (chunk: number) => {
    done.push(`read ${chunk}`);
    return chunk * 10;
  };
  for await (const [chunk, answer] of readAhead([1, 2, 3], read, sqlite)) done.push(`${chunk} is ${answer}`);
  assert.deepEqual(done, ["read 1", "read 2", "1 is 10", "read 3", "2 is 20", "3 is 30"]);
  done = [];
  for await (const [chunk, answer] of readAhead([1, 2, 3, 4], read, postgres)) done.push(`${chunk} is ${answer}`);
  assert.deepEqual(done, ["read 1", "read 2", "read 3", "1 is 10", "read 4", "2 is 20", "3 is 30", "4 is 40"]);
});

it("readAhead fails if a read fails, but not after the consumer has stopped", async () => {
  const read = async (chunk: number) => assert.notEqual(chunk, 2);
  await assert.rejects(async () => {
    for await (const _ of readAhead([1, 2, 3], read, sqlite));
  });
  for await (const [chunk] of readAhead([1, 2], read, sqlite)) {
    assert.equal(chunk, 1);
    break;
  }
});
