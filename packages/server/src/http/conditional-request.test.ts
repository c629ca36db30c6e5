import assert from "node:assert/strict";
import { test } from "node:test";
import { isKnown } from "./conditional-request.ts";

const TIME = "2024-03-01T10:00:00.500Z";

test("a client has the content if one of its etags is equal, by the weak comparison", () => {
  const has = (tags: string, ...etags: string[]) => isKnown({ headers: { "if-none-match": tags } }, { etags });
  for (const tags of ['"a"', 'W/"a"', '"b", "a"', ' W/"b" ,W/"a" ', "*", " * "]) {
    assert.equal(has(tags, '"a"'), true, tags);
    assert.equal(has(tags, '"c"', 'W/"a"'), true, tags);
  }
  for (const tags of ["", '"b"', '"ab"', 'x"a"', "a", '"*"']) assert.equal(has(tags, '"a"'), false, tags);
});

test("a date counts if the client sends no etag and the content has a time", () => {
  const has = (headers: Readonly<Record<string, string>>, lastModified: string | undefined) =>
    isKnown({ headers }, { etags: ['"a"'], lastModified });
  const since = (date: string) => ({ "if-modified-since": date });
  assert.equal(has(since("Fri, 01 Mar 2024 10:00:00 GMT"), TIME), true);
  assert.equal(has(since("Fri, 01 Mar 2024 09:59:59 GMT"), TIME), false);
  assert.equal(has(since("nonsense"), TIME), false);
  assert.equal(has(since("Fri, 01 Mar 2024 10:00:00 GMT"), undefined), false);
  assert.equal(has({ ...since("Fri, 01 Mar 2024 10:00:00 GMT"), "if-none-match": '"b"' }, TIME), false);
  assert.equal(has({}, TIME), false);
});
