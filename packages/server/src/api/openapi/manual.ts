/** The manual: the Markdown files of docs/ as pages below `/docs/manual`, rendered at their first request. */
import { extname, join } from "node:path";
import MarkdownIt from "markdown-it";
import { createStaticAsset, type StaticAsset } from "../../http/static-asset.ts";
import { type ProgramFiles, programFiles } from "../../lib/program-files.ts";
import { MANUAL_PATH } from "./manual-path.ts";

/** Order of the list of pages: how people get to know Holt. All other pages follow by name. */
const FIRST = ["console", "cli", "authentication", "authorization", "registry", "libraries", "advisories", "events", "operating"];

const STYLE = `:root { color-scheme: light dark; --line: #8884; --link: light-dark(#1864ab, #8ec5ff); }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; background: light-dark(#fff, #1a1b1e); color: light-dark(#1f2328, #e6e6e6); }
a { color: var(--link); }
nav.top { display: flex; flex-wrap: wrap; gap: 1rem; padding: .75rem 1rem; border-bottom: 1px solid var(--line); }
.page { display: flex; flex-wrap: wrap; gap: 2rem; max-width: 72rem; margin: auto; padding: 1rem; }
nav.pages { flex: 0 0 12rem; } nav.pages ul { list-style: none; padding: 0; } nav.pages [aria-current] { font-weight: 600; }
main { flex: 1 1 20rem; min-width: 0; } main img { max-width: 100%; height: auto; border: 1px solid var(--line); }
h1, h2, h3 { line-height: 1.25; } code { font: .875em ui-monospace, monospace; overflow-wrap: anywhere; }
pre { overflow: auto; padding: .75rem; border: 1px solid var(--line); border-radius: 4px; } pre code { overflow-wrap: normal; }
table { border-collapse: collapse; display: block; overflow-x: auto; } td, th { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
`;

/** Makes the asset of each path of the manual. */
export function manualSources(
  files: ProgramFiles = programFiles("manual", () => join(import.meta.dirname, "../../../../../docs")),
): ReadonlyMap<string, () => StaticAsset> {
  const names = files.list("").flatMap((file) => (extname(file) === ".md" ? [file.slice(0, -".md".length)] : []));
  const pages = [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name)).sort()];
  const textOf = (name: string) => files.read(`${name}.md`).toString("utf8");
  const titles = new Map(pages.map((name) => [name, titleOf(textOf(name))]));
  const page = (name: string) => () => createStaticAsset("text/html; charset=utf-8", Buffer.from(pageOf(name, textOf(name), titles)));
  const images = files.list("images").filter((file) => extname(file) === ".webp");
  const [first] = pages;
  if (first === undefined) return new Map();
  return new Map([
    [`${MANUAL_PATH}/style.css`, () => createStaticAsset("text/css; charset=utf-8", Buffer.from(STYLE))],
    [MANUAL_PATH, page(first)],
    ...pages.map((name) => [`${MANUAL_PATH}/${name}`, page(name)] as const),
    ...images.map(
      (file) => [`${MANUAL_PATH}/images/${file}`, () => createStaticAsset("image/webp", files.read(`images/${file}`))] as const,
    ),
  ]);
}

function titleOf(text: string): string {
  return /^# (.*)$/m.exec(text)?.[1] ?? "";
}

function pageOf(name: string, text: string, titles: ReadonlyMap<string, string>): string {
  const links = [...titles].map(([each, title]) => {
    const current = each === name ? ' aria-current="page"' : "";
    return `<li><a href="${MANUAL_PATH}/${each}"${current}>${escapeHtml(title)}</a></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(titles.get(name) ?? "")} – Holt</title>
<link rel="stylesheet" href="${MANUAL_PATH}/style.css">
</head>
<body>
<nav class="top" aria-label="Holt"><a href="/">Console</a> <a href="${MANUAL_PATH}">Manual</a> <a href="/docs">API</a></nav>
<div class="page">
<nav class="pages" aria-label="Pages"><ul>${links.join("")}</ul></nav>
<main>${render(text, titles)}</main>
</div>
</body>
</html>
`;
}

function render(text: string, titles: ReadonlyMap<string, string>): string {
  // The files are part of Holt, and contain comments for generators.
  const markdown = MarkdownIt({ html: true });
  const tokens = markdown.parse(text, {});
  const slugs = new Map<string, number>();
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open") token.attrSet("id", slugOf(tokens[index + 1]?.content ?? "", slugs));
    // The content security policy admits no inline styles.
    if (token.type === "th_open" || token.type === "td_open") token.attrs = null;
    for (const child of token.children ?? []) {
      if (child.type === "link_open") child.attrSet("href", addressOf(String(child.attrGet("href")), titles));
      if (child.type === "image") child.attrSet("src", `${MANUAL_PATH}/${child.attrGet("src")}`);
    }
    if (token.type === "fence") token.info = token.info.split(" ")[0] ?? "";
  }
  return markdown.renderer.render(tokens, markdown.options, {});
}

/** The id that code hosts give a heading, so that the links in the files work on both. */
function slugOf(heading: string, used: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
  const count = used.get(slug) ?? 0;
  used.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

/** Links to other pages of the manual lead there. Files beside the manual are not served; their links lead to the list of pages. */
function addressOf(href: string, titles: ReadonlyMap<string, string>): string {
  if (/^(?:https?:|#|\/)/.test(href)) return href;
  const [file = "", fragment] = href.split("#");
  const name = file.replace(/\.md$/, "");
  if (!titles.has(name)) return MANUAL_PATH;
  return `${MANUAL_PATH}/${name}${fragment === undefined ? "" : `#${fragment}`}`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
