import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "../../../test/harness/property.ts";
import { JoinedBodies, SEPARATOR, SeparateBodies } from "./bodies.ts";

/** Bodies as the stores hold them: JSON that begins with the uid, without half surrogate pairs. */
const value = fc.oneof(fc.string(), fc.string({ unit: "grapheme" }), fc.constantFrom(SEPARATOR, ',{"uid":"', "\\"));
const texts = fc
  .array(
    fc.record({
      uid: fc.string(),
      name: value,
      labels: fc.dictionary(value, value),
      items: fc.array(fc.record({ name: value, uid: value })),
    }),
    { maxLength: 10 },
  )
  .map((bodies) => bodies.map((body) => JSON.stringify(body)));

function joined(bodies: readonly string[]): JoinedBodies {
  const text = bodies.join(SEPARATOR);
  return new JoinedBodies({ text, bytes: Buffer.byteLength(text), size: bodies.length });
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
