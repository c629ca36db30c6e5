import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../../../test/harness/property.ts";
import { indexesOfText, membershipOfText, postingText } from "./posting-text.ts";

test("the text of a posting names the same entries again, to readers of all and to tests of few or many", () => {
  const blocks = fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }).filter((block) => block.includes(true));
  fc.assert(
    fc.property(blocks, fc.constantFrom(1, 100), (block, searches) => {
      const indexes = block.flatMap((isNamed, index) => (isNamed ? [index] : []));
      const text = postingText(indexes, block.length);
      assert.deepEqual(indexesOfText(text, block.length), indexes);
      const has = membershipOfText(text, searches);
      assert.deepEqual(
        block.map((_, index) => has(index)),
        block,
      );
    }),
  );
});

test("the text of a value of most entries names the others", () => {
  assert.equal(postingText([0, 1, 3], 4), "-2");
  assert.equal(postingText([0, 1], 2), "*");
  assert.equal(postingText([0, 3], 4), "0,3");
  assert.deepEqual(indexesOfText("1,9,-1", 4), [1]);
});
