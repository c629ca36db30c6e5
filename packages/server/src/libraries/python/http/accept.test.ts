import assert from "node:assert/strict";
import { test } from "node:test";
import { pageTypeFrom } from "./accept.ts";

const JSON_V1 = "application/vnd.pypi.simple.v1+json";

test("the content type with the highest weight is chosen", () => {
  for (const [accept, expected] of [
    [undefined, "text/html; charset=utf-8"],
    ["", "text/html; charset=utf-8"],
    ["text/*", "text/html; charset=utf-8"],
    ["*/*;q=0.1, application/vnd.pypi.simple.v1+json", JSON_V1],
    ["application/*", JSON_V1],
    ["TEXT/HTML;Q=0.2,APPLICATION/VND.PYPI.SIMPLE.V1+JSON ; q = 0.3", JSON_V1],
    ["application/vnd.pypi.simple.v1+json;q=0, */*", "text/html; charset=utf-8"],
    ["application/vnd.pypi.simple.latest+html", "application/vnd.pypi.simple.v1+html"],
  ] as const)
    assert.equal(pageTypeFrom(accept)?.contentType, expected, accept);
});

test("no content type is chosen if the client accepts none of them", () => {
  for (const accept of ["image/png", "text/html;q=0", "application/vnd.pypi.simple.v2+json", ";;,,", "text/html;q=x"])
    assert.equal(pageTypeFrom(accept), undefined, accept);
});
