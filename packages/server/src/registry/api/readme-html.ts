/**
 * Whether a readme is safe to show. Readmes are kept as Markdown and rendered by whoever shows them, so what counts is what any
 * renderer may make of one: it is rendered with all its HTML, parsed as browsers do, and refused if a sanitiser for users' content
 * would take anything out of it.
 */
import { isDeepStrictEqual } from "node:util";
import { fromHtml } from "hast-util-from-html";
import { type Schema, sanitize } from "hast-util-sanitize";
import MarkdownIt from "markdown-it";

const markdown = MarkdownIt({ html: true });
// By default it leaves links to javascript: as text. Other renderers link them, so the sanitiser must see them.
markdown.validateLink = () => true;

const NUMBER_OR_PERCENT = /^[0-9]+%?$/;
const H_ALIGN = ["align", "center", "char", "justify", "left", "right"] as const;
const V_ALIGN = ["vAlign", "baseline", "bottom", "middle", "top"] as const;
const SIZE = [
  ["width", NUMBER_OR_PERCENT],
  ["height", NUMBER_OR_PERCENT],
] as const;
/** As Markdown renderers write the alignment of a table's columns. */
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
  // Ids and names stay as they are: whoever shows a readme beside other content prefixes them there.
  clobber: [],
} as unknown as Schema;

export function isSafeReadme(content: string): boolean {
  try {
    // As a whole document: in a fragment, attributes of a stray <body> would vanish before anybody could look at them.
    const tree = fromHtml(`<!doctype html><body>${markdown.render(content)}`, { fragment: false });
    const clean = sanitize(tree, policy);
    return clean.type === "root" && isDeepStrictEqual(clean.children, tree.children);
  } catch (error) {
    // Nested deeper than the stack; whoever shows it would fare no better.
    if (error instanceof RangeError) return false;
    throw error;
  }
}
