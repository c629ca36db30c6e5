import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "../../test/harness/property.ts";
import { ancestry, isAtOrBelow, isInRoot, isUid, newUid, parentOf, rangeAtOrBelow, rangeBelow, rootOf, uidFromText } from "./uid.ts";

const RUNS = { numRuns: 3000 };
// Few segments with equal beginnings and ends, so that many uids are related or nearly related.
const root = fc.constantFrom("0".repeat(40), `${"0".repeat(39)}1`, "f".repeat(40));
const segment = fc.constantFrom("0".repeat(16), `${"0".repeat(15)}1`, "f".repeat(16), `f${"0".repeat(15)}`);
const uid = fc.tuple(root, fc.array(segment, { maxLength: 4 })).map(([first, rest]) => [first, ...rest].join("/"));

/** The model: a uid is a list of segments, and a descendant's list begins with all segments of its ancestor. */
function isPrefix(prefix: readonly string[], path: readonly string[]): boolean {
  return prefix.length <= path.length && prefix.every((part, i) => part === path[i]);
}

describe("uids", () => {
  test("parentOf, rootOf and ancestry agree with the list of segments", () => {
    fc.assert(
      fc.property(uid, (text) => {
        const parts = text.split("/");
        assert.equal(parentOf(text), parts.length === 1 ? "/" : parts.slice(0, -1).join("/"));
        assert.equal(rootOf(text), parts[0]);
        assert.equal(isInRoot(text), parts.length === 1);
        assert.deepEqual(
          ancestry(text),
          parts.map((_, i) => parts.slice(0, parts.length - i).join("/")),
        );
      }),
      RUNS,
    );
  });

  test("isAtOrBelow and the uid ranges agree with the segments of both uids", () => {
    let related = 0;
    fc.assert(
      fc.property(uid, uid, (text, ancestor) => {
        const isBelow = isPrefix(ancestor.split("/"), text.split("/"));
        if (isBelow) related++;
        const isIn = ({ lower, upper }: { lower: string; upper: string }) => text >= lower && text < upper;
        assert.equal(isAtOrBelow(text, ancestor), isBelow);
        assert.equal(isIn(rangeAtOrBelow(ancestor)), isBelow);
        assert.equal(isIn(rangeBelow(ancestor)), isBelow && text !== ancestor);
      }),
      RUNS,
    );
    assert.ok(related > 100, `${related}`);
  });

  test("isUid accepts 40 hexadecimal digits and up to 63 further segments of a slash and 16 digits", () => {
    const changed = fc.tuple(uid, fc.nat({ max: 120 }), fc.constantFrom("", "g", "A", "/", "0", "\n", " ")).map(([text, at, insert]) => {
      return text.slice(0, at) + insert + text.slice(at + (insert === "" ? 1 : 0));
    });
    fc.assert(
      fc.property(fc.oneof(uid, changed, fc.string()), (text) => {
        const [first = "", ...rest] = text.split("/");
        const isHex = (part: string, length: number) =>
          part.length === length && [...part].every((char) => "0123456789abcdef".includes(char));
        assert.equal(isUid(text), isHex(first, 40) && rest.every((part) => isHex(part, 16)));
      }),
      RUNS,
    );
    const deep = (segments: number) => ["0".repeat(40), ...Array.from({ length: segments - 1 }, () => "1".repeat(16))].join("/");
    assert.equal(isUid(deep(64)), true);
    assert.equal(isUid(deep(65)), false);
    assert.equal(isUid(`${"0".repeat(40)}\n`), false);
  });

  test("newUid returns distinct uids directly below the parent", () => {
    const parents = ["", newUid(""), newUid(newUid(""))];
    for (const parent of parents) {
      const made = Array.from({ length: 100 }, () => newUid(parent));
      assert.equal(new Set(made).size, 100);
      for (const text of made) {
        assert.ok(isUid(text));
        assert.equal(parentOf(text), parent === "" ? "/" : parent);
      }
    }
  });

  test("uidFromText returns the same uid for the same name forever", () => {
    assert.equal(uidFromText("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a3");
    assert.ok(isUid(uidFromText("")));
  });
});
