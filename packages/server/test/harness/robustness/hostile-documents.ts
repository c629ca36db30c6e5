/** Generates documents that are slow or large to parse, in any size. Each function gets the number of bytes to fill. */

/** Repeats a part up to a size. */
export function fill(bytes: number, part: string | ((index: number) => string), before = "", after = ""): string {
  if (typeof part === "string") return before + part.repeat(Math.max((bytes - before.length - after.length) / part.length, 0)) + after;
  const parts: string[] = [];
  for (let size = before.length + after.length; ; ) {
    const next = part(parts.length);
    size += next.length;
    if (size > bytes) break;
    parts.push(next);
  }
  return before + parts.join("") + after;
}

type Generator = (bytes: number) => string;

const half = (bytes: number): number => Math.floor(bytes / 2);

/** Markdown and HTML that make many nodes, deep trees, or quadratic work. */
export const readmes: Readonly<Record<string, Generator>> = {
  "open formatting elements before many paragraphs": (bytes) =>
    fill(half(bytes), (i) => `<b id=a${i}>`, "<div>") + fill(half(bytes), "<p>x</p>", "", "</div>"),
  "open links before many paragraphs": (bytes) => fill(half(bytes), (i) => `<font id=${i}>`) + fill(half(bytes), "<p>"),
  "nested emphasis": (bytes) => fill(half(bytes), "*a **b ") + fill(half(bytes), "c** d*"),
  "unclosed emphasis": (bytes) => fill(bytes, "*_a"),
  "nested quotes": (bytes) => fill(bytes, "> "),
  "nested lists": (bytes) => fill(bytes, "- "),
  "indented lists": (bytes) => fill(bytes, (i) => `${" ".repeat(2 * (i % 100))}- a\n`),
  "open brackets": (bytes) => fill(bytes, "["),
  "nested links": (bytes) => fill(bytes, "[a](b "),
  "open images": (bytes) => fill(bytes, "![a]("),
  "runs of backticks": (bytes) => fill(bytes, (i) => `${"`".repeat(1 + (i % 300))} `),
  "open angle brackets": (bytes) => fill(bytes, "<a "),
  "open comments": (bytes) => fill(bytes, "<!--"),
  "open processing instructions": (bytes) => fill(bytes, "a <?"),
  "open declarations": (bytes) => fill(bytes, "a <!A "),
  "a wide table": (bytes) => `${fill(bytes / 4, "|a")}\n${fill(bytes / 4, "|-")}\n${fill(half(bytes), "|\n")}`,
  "references to one definition": (bytes) => fill(bytes, "[a]", `[a]: ${"b".repeat(1000)}\n\n`),
  "many definitions": (bytes) => fill(bytes, (i) => `[a${i}]: b\n`),
  entities: (bytes) => fill(bytes, "&amp;"),
  "attributes of one element": (bytes) => fill(bytes, (i) => ` a${i}`, "<p", ">"),
  "nested elements": (bytes) => fill(bytes, "<div>"),
  "content of a table that belongs elsewhere": (bytes) => fill(bytes, "<table><b>x"),
  "nested tables": (bytes) => fill(bytes, "<table><tr><td>"),
  "stray end tags": (bytes) => fill(half(bytes), "<b>") + fill(half(bytes), "</p></i>"),
  "misnested formatting": (bytes) => fill(bytes, (i) => `<b id=${i}><p>x</b>`),
  "nested buttons of lists": (bytes) => fill(bytes, "<ul><li><dl><dd>"),
  "empty lines of quotes": (bytes) => fill(bytes, ">\n\n"),
  "one long line": (bytes) => fill(bytes, "a "),
  "one long word": (bytes) => fill(bytes, "a"),
  "escaped characters": (bytes) => fill(bytes, "\\*"),
  "line breaks": (bytes) => fill(bytes, "a\n"),
  "headings of one line": (bytes) => fill(bytes, "a\n=\n"),
};

/** @param root the name of the outermost element @param head its valid content */
export function xmlDocuments(root: string, head: string): Readonly<Record<string, Generator>> {
  const within = (bytes: number, part: string | ((index: number) => string), before = "", after = "") =>
    fill(bytes, part, `<${root}>${before}`, `${after}${head}</${root}>`);
  const names = Array.from({ length: 90 }, (_, i) => `e${i}`);
  const open = names.map((name) => `<${name}>`).join("");
  const close = names
    .map((name) => `</${name}>`)
    .reverse()
    .join("");
  return {
    "empty elements in a deep place": (bytes) => within(bytes, "<a/>", open, close),
    "elements with long names": (bytes) => within(bytes, `<${"n".repeat(500)}/>`),
    "a deep place with long names": (bytes) =>
      within(bytes, "<a/>", `<${"n".repeat(1000)}>`.repeat(50), `</${"n".repeat(1000)}>`.repeat(50)),
    "attributes of one element": (bytes) => within(bytes, (i) => ` a${i}=""`, "<x", "/>"),
    entities: (bytes) => within(bytes, "&eacute;"),
    "unknown entities": (bytes) => within(bytes, "&nosuchentity;"),
    "one long text": (bytes) => within(bytes, "a"),
    "pieces of text": (bytes) => within(bytes, "a<![CDATA[b]]>"),
    comments: (bytes) => within(bytes, "<!---->"),
    instructions: (bytes) => within(bytes, "<?a?>"),
    "deeper than allowed": (bytes) => within(bytes, "<a>"),
    "the same field again and again": (bytes) => within(bytes, "<name>a</name>"),
  };
}

/** JSON texts with many values, names or levels. */
export const jsonTexts: Readonly<Record<string, Generator>> = {
  "nested lists": (bytes) => fill(half(bytes), "[", '{"a":') + fill(half(bytes), "]", "", "}"),
  "nested objects": (bytes) => fill(bytes, '{"a":'),
  "empty objects": (bytes) => fill(bytes, "{},", '{"a":[', "{}]}"),
  numbers: (bytes) => fill(bytes, "1,", '{"a":[', "1]}"),
  "names of one object": (bytes) => fill(bytes, (i) => `"a${i}":1,`, "{", '"z":1}'),
  "the same name": (bytes) => fill(bytes, '"a":1,', "{", '"a":1}'),
  "a long string of escapes": (bytes) => fill(bytes, "\\u0041", '{"a":"', '"}'),
  "a long string of commas": (bytes) => fill(bytes, ",", '{"a":"', '"}'),
  "a long number": (bytes) => fill(bytes, "1", '{"a":', "}"),
  "only spaces": (bytes) => fill(bytes, " ", "{", "}"),
};
