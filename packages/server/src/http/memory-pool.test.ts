/** Tests the limits of holders and organizations in a pool. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryPool } from "./memory-pool.ts";

const ORG = "a".repeat(40);
const OTHER = "b".repeat(40);
const createPool = () =>
  new MemoryPool({ bytes: 64, bytesPerHolder: 16, holderIsFull: "the holder is full", poolIsFull: "the pool is full" });

/** @returns the bytes that the holders got, one byte at a time */
function fill(pool: MemoryPool, holders: readonly (string | undefined)[]): number {
  let bytes = 0;
  for (const holder of holders)
    try {
      for (; ; bytes++) pool.take(holder, 1);
    } catch {
      // The next holder goes on.
    }
  return bytes;
}

test("the identities of one organization leave half of a pool to others, however many they are", () => {
  const pool = createPool();
  assert.equal(
    fill(
      pool,
      Array.from({ length: 100 }, (_, i) => `${ORG}/${i}`),
    ),
    32,
  );
  pool.take(OTHER, 16);
  assert.throws(() => pool.take(`${ORG}/one-more`, 1), { message: /the pool is full/ });
});

test("no number of networks takes the last bytes of a pool", () => {
  const pool = createPool();
  fill(
    pool,
    Array.from({ length: 5 }, (_, i) => `2001:db8:0:${i}::/64`),
  );
  pool.take("192.0.2.1", 1);
});

test("one holder has its own limit, and bytes without a holder have that of the pool", () => {
  const pool = createPool();
  assert.throws(() => pool.take(ORG, 17), { message: /the holder is full/ });
  pool.add(ORG, 17);
  assert.throws(() => pool.take(ORG, 1), { message: /the holder is full/ });
  pool.give(ORG, 17);
  pool.take(ORG, 16);
  pool.give(ORG, 16);
  for (let i = 0; i < 4; i++) pool.take(undefined, 16);
  assert.throws(() => pool.take(undefined, 1), { message: /the pool is full/ });
});
