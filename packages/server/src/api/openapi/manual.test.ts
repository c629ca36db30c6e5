import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { filesInFolder } from "../../lib/program-files.ts";
import { manualSources } from "./manual.ts";
import { MANUAL_PATH } from "./manual-path.ts";

const docs = join(import.meta.dirname, "../../../../../docs");
const sources = manualSources();
const pages = readdirSync(docs).flatMap((file) => (file.endsWith(".md") ? [`${MANUAL_PATH}/${file.slice(0, -3)}`] : []));
const htmlOf = (path: string) => sources.get(path)?.().body.toString() ?? assert.fail(`the manual has no ${path}`);

test("each file of docs/ is a page of the manual", () => {
  assert.ok(pages.length > 10);
  for (const page of pages) assert.match(htmlOf(page), /<main><h1 id="[^"]+">/);
  assert.match(htmlOf(MANUAL_PATH), /<main><h1 id=/);
});

test("each link within the manual leads to a page and a heading that exist", () => {
  for (const page of pages) {
    for (const [, href = ""] of htmlOf(page).matchAll(/href="([^"]*)"/g)) {
      const [path = "", fragment = ""] = href.split("#");
      const target = path === "" ? page : path;
      if (!target.startsWith(MANUAL_PATH)) continue;
      assert.ok(sources.has(target), `${page} links to ${href}`);
      if (fragment !== "") assert.ok(htmlOf(target).includes(`id="${fragment}"`), `${page} links to ${href}`);
    }
  }
});

test("pages of the manual contain no scripts and no inline styles", () => {
  for (const page of pages) assert.doesNotMatch(htmlOf(page), /<script|<style|\sstyle=|\son\w+="/);
});

test("a server without the folder has no manual", () => {
  assert.equal(manualSources(filesInFolder(join(docs, "missing"))).size, 0);
});
