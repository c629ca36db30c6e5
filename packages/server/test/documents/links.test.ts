/** Tests that the links of the documents lead to files and headings of the repository. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../../../..");
const PAGES = [
  "*.md",
  "docs/**/*.md",
  "examples/**/*.md",
  "bench/*.md",
  "deploy/**/*.md",
  "packages/*/*.md",
  "packages/*/{src,test}/**/*.md",
];
const CODE = /^```[\s\S]*?^```|`[^`\n]*`/gm;

test("every relative link of the documents leads to a file, and to a heading that exists", async () => {
  const dead: string[] = [];
  const pages: string[] = [];
  for await (const page of glob(PAGES, { cwd: ROOT })) if (!page.includes("node_modules")) pages.push(page);
  assert.ok(pages.length > 30, pages.join());
  for (const page of pages)
    for (const link of linksOf(await readFile(join(ROOT, page), "utf8")))
      if (!(await leadsSomewhere(page, link))) dead.push(`${page}: ${link}`);
  assert.deepEqual(dead, []);
});

function linksOf(text: string): string[] {
  const links = [...text.replace(CODE, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => !/^(?:https?|mailto):/.test(link));
}

async function leadsSomewhere(page: string, link: string): Promise<boolean> {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), path);
  if (relative(ROOT, target).startsWith("..") || !existsSync(target)) return false;
  return anchor === undefined || !target.endsWith(".md") || anchorsOf(await readFile(target, "utf8")).has(anchor);
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading.replace(/`/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = words
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
    let numbered = anchor;
    for (let count = 1; anchors.has(numbered); count++) numbered = `${anchor}-${count}`;
    anchors.add(numbered);
  }
  return anchors;
}
