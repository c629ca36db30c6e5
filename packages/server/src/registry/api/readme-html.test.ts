import assert from "node:assert/strict";
import { test } from "node:test";
import { isSafeReadme } from "./readme-html.ts";

const safe: Readonly<Record<string, string>> = {
  "an empty text": "",
  "the elements of Markdown":
    '# Title\n\nText with *emphasis*, `code`, ~~strikes~~ & <https://example.com>.\n\n1. one\n2. two\n\n> quote\n\n---\n\n![logo](logo.png "Logo") [link](/docs#a)\n',
  "a fenced block of a language": "```go title=x\nfunc main() { a := 1 < 2 && 3 > 2 }\n```\n",
  "a table with aligned columns": "| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | <b>3</b> |\n",
  "a comment": "before\n\n<!-- copied from elsewhere: <script>alert(1)</script> -->\n\nafter",
  "an image with a size": '<img src="https://example.com/x.png" width=100 height="50%" alt="x" />',
  "details with a summary": "<details open><summary>More</summary>\n\ntext\n\n</details>",
  "HTML that is quoted as code": "`<script>alert(1)</script>`\n\n    <iframe src=x>\n",
  "escaped and half-written HTML": "a < b, a &lt; b, \\<script\\> and &#60;script&#62; <",
  "a mail address": "[mail](mailto:x@example.com)",
  "tags in capitals and never closed": "<B>bold <BR> text",
};
for (const [what, content] of Object.entries(safe)) test(`a readme may have ${what}`, () => assert.equal(isSafeReadme(content), true));

const unsafe: Readonly<Record<string, string>> = {
  "a script": "<script>alert(1)</script>",
  "a script inside a paragraph": "text <SCRIPT src=x></SCRIPT>",
  "an event handler": '<img src="x.png" onerror="alert(1)">',
  "a link to a script": "[x](javascript:alert(1))",
  "a link to a script, disguised": '<a href="java&#x0A;script:alert(1)">x</a>',
  "an image of data": "![x](data:text/html;base64,PHNjcmlwdD4=)",
  "a frame": '<iframe src="https://example.com"></iframe>',
  "a form": '<form action="https://example.com"><input name="password"></form>',
  "a style sheet": "<style>body { display: none }</style>",
  "a style": '<p style="position:fixed">x</p>',
  "a style in a cell": '<table><tr><td style="background:url(x)">x</td></tr></table>',
  "a class of the page": '<p class="admin">x</p>',
  "a class of the page next to a language": '<code class="language-go admin">x</code>',
  SVG: "<svg onload=alert(1)><script>alert(1)</script></svg>",
  "a comment that ends at once": "<!--> <img src=x onerror=alert(1)> -->",
  "a comment that ends as only browsers know": "<!-- a --!> <img src=x onerror=alert(1)> -->",
  "attributes of the page's body": "<body onload=alert(1)>",
  "attributes of the page itself": "<html onclick=alert(1)>",
  "a base for all links": "<base href=https://example.com/>",
  "a refresh": '<meta http-equiv=refresh content="0;url=https://example.com">',
  "a handler behind a template": "<template><img src=x onerror=alert(1)></template>",
  "a noscript trick": '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
};
for (const [what, content] of Object.entries(unsafe))
  test(`a readme must not have ${what}`, () => assert.equal(isSafeReadme(content), false));

const tooLarge: Readonly<Record<string, string>> = {
  "more depth than a browser shows": "<b>".repeat(60_000),
  "formatting elements that every later paragraph repeats":
    Array.from({ length: 200 }, (_, i) => `<b id=a${i}>`).join("") + "<p>x".repeat(5000),
  "a table whose rows repeat its columns": `${"|a".repeat(300)}\n${"|-".repeat(300)}\n${"|\n".repeat(4000)}`,
  "references that repeat a long URL": `[a]: ${"b".repeat(10_000)}\n\n${"[a]".repeat(1000)}`,
};
for (const [what, content] of Object.entries(tooLarge))
  test(`a readme must not have ${what}`, () => assert.throws(() => isSafeReadme(content), /the readme (has|becomes)/));
