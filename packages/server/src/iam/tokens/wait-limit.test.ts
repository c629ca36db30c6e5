import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, HoltError } from "../../lib/errors.ts";
import { createWaitLimit } from "./wait-limit.ts";

const TRUSTED = "https://login.test";

/** Starts waits that end together; reports how many of them started. */
function startWaits(limit: ReturnType<typeof createWaitLimit>) {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const waits: Promise<unknown>[] = [];
  return {
    start(server: string, count: number): number {
      const before = begun;
      for (let i = 0; i < count; i++) {
        waits.push(
          limit.wait(server, async () => {
            begun++;
            await gate.promise;
          }),
        );
      }
      return begun - before;
    },
    async end(): Promise<unknown[]> {
      gate.resolve();
      return (await Promise.allSettled(waits)).flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    },
  };
}

test("at most an eighth of all calls wait for external servers, a quarter of these for one server", async () => {
  const limit = createWaitLimit({ maxConcurrentCalls: 1024, trusted: new Set() });
  for (let round = 0; round < 2; round++) {
    const waits = startWaits(limit);
    const begun = Array.from({ length: 5 }, (_, i) => waits.start(`https://${i}.test`, 33));
    assert.deepEqual(begun, [32, 32, 32, 32, 0]);
    const refused = await waits.end();
    assert.equal(refused.length, 37);
    assert.ok(refused.every((error) => error instanceof HoltError && error.code === Code.UNAVAILABLE));
  }
});

test("calls to a trusted server wait regardless of other servers, up to the limit for one server", async () => {
  const waits = startWaits(createWaitLimit({ maxConcurrentCalls: 64, trusted: new Set([TRUSTED]) }));
  for (let i = 0; i < 10; i++) waits.start(`https://${i}.test`, 10);
  assert.equal(waits.start("https://late.test", 1), 0);
  assert.equal(waits.start(TRUSTED, 10), 2);
  await waits.end();
});

test("one call may always wait, and a failed wait frees its slot", async () => {
  const limit = createWaitLimit({ maxConcurrentCalls: 1, trusted: new Set() });
  for (let i = 0; i < 3; i++)
    await assert.rejects(
      limit.wait("https://a.test", () => Promise.reject(new Error("failed"))),
      /failed/,
    );
  const waits = startWaits(limit);
  assert.deepEqual([waits.start("https://a.test", 1), waits.start("https://b.test", 1)], [1, 0]);
  await waits.end();
});
