import assert from "node:assert/strict";
import { test } from "node:test";
import { isCleanText, isStorableText } from "./clean-text.ts";

test("a string with a NUL or a lone surrogate cannot be stored", () => {
  for (const text of ["", "a\nb", "\u{1f600}", "\u007f"]) assert.ok(isStorableText(text), JSON.stringify(text));
  for (const text of ["a\0", "\ud83d", "\ude00\ud83d"]) assert.ok(!isStorableText(text), JSON.stringify(text));
});

test("a string with a control character or a lone surrogate is not clean", () => {
  for (const text of ["", "a b", "ä\u{1f600}"]) assert.ok(isCleanText(text), JSON.stringify(text));
  for (const text of ["a\nb", "\0", "\u001f", "\u007f", "\ud83d"]) assert.ok(!isCleanText(text), JSON.stringify(text));
});
