import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLogo } from "./logo.ts";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const svg = (inner: string, attributes = "") => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>${inner}</svg>`);

test("a PNG image and an SVG image that only draw are accepted", () => {
  assert.equal(parseLogo(PNG).type, "image/png");
  const drawing = svg('<defs><linearGradient id="a"/></defs><path d="M0 0h4" fill="url(#a)"/><use href="#a"/>', 'viewBox="0 0 4 4"');
  assert.equal(parseLogo(drawing).type, "image/svg+xml");
});

test("an SVG image with scripts, handlers, references to other addresses or a document type is refused", () => {
  const bad = [
    svg("<script>alert(1)</script>"),
    svg("<foreignObject/>"),
    svg("<style>@import url(https://x.test)</style>"),
    svg("<a/>"),
    svg('<image href="https://x.test/a.png"/>'),
    svg('<use href="https://x.test/a.svg#b"/>'),
    svg('<use href="#a"/>'.repeat(21)),
    svg('<use xlink:href="data:image/svg+xml,x"/>'),
    svg('<path fill="url(https://x.test/a)"/>'),
    svg("", 'onload="alert(1)"'),
    svg("", 'OnLoad="alert(1)"'),
    Buffer.from('<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>'),
    Buffer.from('<?xml-stylesheet href="https://x.test"?><svg/>'),
    Buffer.from("<html/>"),
    Buffer.from("<svg>"),
    Buffer.from("GIF89a"),
    Buffer.from(""),
  ];
  for (const bytes of bad) assert.throws(() => parseLogo(bytes), /logo must/, bytes.toString());
});

test("images above the limits are refused", () => {
  const wide = Buffer.from(PNG);
  wide.writeUInt32BE(5000, 16);
  for (const bytes of [
    wide,
    PNG.subarray(0, 20),
    svg("<g>".repeat(65) + "</g>".repeat(65)),
    svg("<g/>".repeat(2001)),
    Buffer.alloc(65_537),
  ])
    assert.throws(() => parseLogo(bytes), /logo must/);
});
