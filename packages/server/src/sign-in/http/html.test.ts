import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { html } from "./html.ts";

test("a template escapes strings, also in attributes, leaves the output of templates as it is, and omits undefined", () => {
  assert.equal(html`<p title="${`"'`}">${"<b>&"}</p>`.text, '<p title="&quot;&#39;">&lt;b&gt;&amp;</p>');
  assert.equal(html`${[html`<i>${"<"}</i>`, html`${1}`]}${undefined}`.text, "<i>&lt;</i>1");
});

test("an inserted string cannot end an element or an attribute value", () => {
  fc.assert(fc.property(fc.string(), (text) => assert.doesNotMatch(html`${text}`.text, /[<>"']/)));
});
