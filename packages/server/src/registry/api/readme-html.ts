/**
 * Checks whether a readme is safe to show. Readmes are stored as Markdown and rendered by clients, so any renderer must be
 * safe. The check renders the readme with all its HTML, parses the result as browsers do, and refuses it if a sanitizer
 * would remove anything.
 */
import { isDeepStrictEqual } from "node:util";
import { fromParse5 } from "hast-util-from-parse5";
import { type Schema, sanitize } from "hast-util-sanitize";
import MarkdownIt from "markdown-it";
import { invalidArgument } from "../../lib/errors.ts";
import { parseHtml } from "./bounded-html.ts";

const markdown = MarkdownIt({ html: true });
// By default it leaves links to javascript: as text. Other renderers link them, so the sanitizer must see them.
markdown.validateLink = () => true;

/** A table row adds cells that it does not have, and a reference repeats the URL of its definition. */
const MAX_TOKENS = 100_000;
const MAX_URL_CHARACTERS = 1024 * 1024;

const NUMBER_OR_PERCENT = /^[0-9]+%?$/;
const H_ALIGN = ["align", "center", "char", "justify", "left", "right"] as const;
const V_ALIGN = ["vAlign", "baseline", "bottom", "middle", "top"] as const;
const SIZE = [
  ["width", NUMBER_OR_PERCENT],
  ["height", NUMBER_OR_PERCENT],
] as const;
/** The alignment of a table's columns, as Markdown renderers write it. */
const CELL_STYLE = ["style", "text-align:left", "text-align:center", "text-align:right"] as const;
const CELL = ["abbr", "colSpan", "rowSpan", "headers", "noWrap", H_ALIGN, V_ALIGN, CELL_STYLE, ...SIZE] as const;
const words = (text: string) => text.split(" ");

const policy = {
  tagNames: words(
    "html head body a abbr acronym area article aside b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em " +
      "figcaption figure h1 h2 h3 h4 h5 h6 hgroup hr i img ins kbd li map mark meter ol p pre progress q rp rt ruby s samp section small span " +
      "strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr",
  ),
  attributes: {
    "*": [["id", /^[a-zA-Z0-9:_.-]+$/], ["dir", "ltr", "rtl", "LTR", "RTL"], ["lang", /^[a-zA-Z]{2,20}(?:-[a-zA-Z0-9]{1,20})*$/], "title"],
    a: ["href"],
    area: ["alt", "coords", "href", "rel", "shape"],
    blockquote: ["cite"],
    code: [["className", /^language-./]],
    col: ["span", H_ALIGN, V_ALIGN, ...SIZE],
    colgroup: ["span", H_ALIGN, V_ALIGN, ...SIZE],
    del: ["cite", "dateTime"],
    details: ["open"],
    img: ["alt", "src", "useMap", ["align", "bottom", "left", "middle", "right", "top"], ...SIZE],
    ins: ["cite", "dateTime"],
    li: ["type", "value"],
    map: ["name"],
    meter: ["high", "low", "max", "min", "optimum", "value"],
    ol: ["start", "type"],
    progress: ["max", "value"],
    q: ["cite"],
    table: ["summary", ...SIZE],
    tbody: [H_ALIGN, V_ALIGN],
    td: [...CELL],
    tfoot: [H_ALIGN, V_ALIGN],
    th: [...CELL, "scope"],
    thead: [H_ALIGN, V_ALIGN],
    time: ["dateTime"],
    tr: [H_ALIGN, V_ALIGN],
    ul: ["type"],
  },
  protocols: { href: ["http", "https", "mailto"], src: ["http", "https"], cite: ["http", "https"] },
  allowComments: true,
  allowDoctypes: true,
  // Ids and names stay unchanged: a page that shows a readme next to other content adds a prefix.
  clobber: [],
} as unknown as Schema;

/** Renders in memory of a multiple of the readme's size. @throws INVALID_ARGUMENT where the readme grows too much when it is rendered */
export function isSafeReadme(content: string): boolean {
  try {
    // Parsed as a whole document: in a fragment, the attributes of a stray <body> would vanish before the check.
    const tree = fromParse5(parseHtml(`<!doctype html><body>${render(content)}`), {});
    const clean = sanitize(tree, policy);
    return tree.type === "root" && clean.type === "root" && isDeepStrictEqual(clean.children, tree.children);
  } catch (error) {
    // Nested deeper than the stack allows; browsers would fail too.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function render(content: string): string {
  const env = {};
  const tokens = markdown.parse(content, env);
  let count = tokens.length;
  let urlCharacters = 0;
  for (const { children } of tokens) {
    count += children?.length ?? 0;
    for (const { attrs } of children ?? []) for (const [, value] of attrs ?? []) urlCharacters += String(value).length;
  }
  if (count > MAX_TOKENS || urlCharacters > MAX_URL_CHARACTERS)
    throw invalidArgument("content", "the readme becomes too large when it is rendered; simplify its tables and references");
  return markdown.renderer.render(tokens, markdown.options, env);
}
