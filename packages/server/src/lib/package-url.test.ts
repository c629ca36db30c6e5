import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPackageUrl, formatVerbatimPackageUrl, fullNameOf, parsePackageUrl, parseVerbatimPackageUrl } from "./package-url.ts";

const R = { type: "apk", namespace: "alpine", name: "R", version: "4.4+1", qualifiers: { arch: "x86_64", upstream: "" } };

test("the verbatim form keeps the name's case and encodes a plus sign, the normalized form does neither", () => {
  assert.equal(formatVerbatimPackageUrl(R), "pkg:apk/alpine/R@4.4%2B1?arch=x86_64");
  assert.equal(formatPackageUrl({ ...R, qualifiers: {} }), "pkg:apk/alpine/r@4.4+1");
});

test("the verbatim form reads a URL whose percent signs encode nothing, the normalized form does not", () => {
  const text = "pkg:npm/%40scope/a%ZZ@1.0?ARCH=arm64";
  assert.deepEqual(parseVerbatimPackageUrl(text), {
    type: "npm",
    namespace: "@scope",
    name: "a%ZZ",
    version: "1.0",
    qualifiers: { arch: "arm64" },
  });
  assert.equal(parsePackageUrl(text), undefined);
});

test("the verbatim form requires a version, the normalized form does not", () => {
  assert.equal(parseVerbatimPackageUrl("pkg:npm/a"), undefined);
  assert.deepEqual(parsePackageUrl("pkg:pypi/My_Pkg"), { type: "pypi", namespace: "", name: "my-pkg", version: "", qualifiers: {} });
});

test("the full name joins the namespace as the ecosystem does, and leaves out the distribution", () => {
  assert.equal(fullNameOf({ ...R, type: "maven", namespace: "g", name: "a" }), "g:a");
  assert.equal(fullNameOf({ ...R, type: "npm", namespace: "@scope", name: "a" }), "@scope/a");
  assert.equal(fullNameOf(R), "R");
});
