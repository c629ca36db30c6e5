import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "../../../test/harness/property.ts";
import { JoinedBodies, SEPARATOR, SeparateBodies } from "./bodies.ts";

/** Texts as the stores hold them: no half surrogate pairs. */
const texts = fc.array(fc.oneof(fc.string(), fc.string({ unit: "grapheme" })), { maxLength: 10 });

function joined(bodies: readonly string[]): JoinedBodies {
  return new JoinedBodies(
    bodies.join(SEPARATOR),
    bodies.map((body) => Buffer.byteLength(body)),
  );
}

function assertSame(actual: JoinedBodies, expected: readonly string[]): void {
  const separate = new SeparateBodies(expected);
  assert.equal(actual.text, separate.text);
  assert.equal(actual.bytes, separate.bytes);
  assert.equal(actual.size, expected.length);
  assert.equal(actual.last, expected.at(-1));
  assert.deepEqual(actual.texts, expected);
}

describe("bodies that a store joined", () => {
  it("joined bodies are read one by one and as one text like separate bodies, with any characters", () => {
    fc.assert(fc.property(texts, (bodies) => assertSame(joined(bodies), bodies)));
  });

  it("joined bodies are cut to a limit, and tell whether some were cut off", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 12 }), (bodies, limit) => {
        const cut = joined(bodies).cut(limit);
        assertSame(cut.bodies, bodies.slice(0, limit));
        assert.equal(cut.hasMore, bodies.length > limit);
      }),
    );
  });
});
