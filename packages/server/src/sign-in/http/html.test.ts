import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { html } from "./html.ts";

test("text is escaped, also between quotes; what a template made is not escaped again; nothing is nothing", () => {
  assert.equal(html`<p title="${`"'`}">${"<b>&"}</p>`.text, '<p title="&quot;&#39;">&lt;b&gt;&amp;</p>');
  assert.equal(html`${[html`<i>${"<"}</i>`, html`${1}`]}${undefined}`.text, "<i>&lt;</i>1");
});

test("no text can end an element or a value", () => {
  fc.assert(fc.property(fc.string(), (text) => assert.doesNotMatch(html`${text}`.text, /[<>"']/)));
});
