/** Chooses the content type of a page by the Accept header (PEP 691, "Version + Format Selection"). Pure. */
import type { PageFormat } from "../simple-pages.ts";

export interface PageType {
  readonly format: PageFormat;
  readonly contentType: string;
}

const JSON_V1 = "application/vnd.pypi.simple.v1+json";
const HTML_V1 = "application/vnd.pypi.simple.v1+html";
const AS_HTML: PageType = { format: "html", contentType: "text/html; charset=utf-8" };
const AS_JSON: PageType = { format: "json", contentType: JSON_V1 };

/** The first of several types with equal weight wins. Older clients send no header or a wildcard, and expect `text/html`. */
const OFFERED: readonly (readonly [name: string, PageType])[] = [
  ["text/html", AS_HTML],
  [JSON_V1, AS_JSON],
  [HTML_V1, { format: "html", contentType: HTML_V1 }],
  ["application/vnd.pypi.simple.latest+json", AS_JSON],
  ["application/vnd.pypi.simple.latest+html", { format: "html", contentType: HTML_V1 }],
];

/** @returns undefined if the client accepts none of the types */
export function pageTypeFrom(accept: string | undefined): PageType | undefined {
  if (accept === undefined || accept.trim() === "") return AS_HTML;
  const ranges = new Map(accept.split(",").map(parseRange));
  const weightOf = (name: string) => ranges.get(name) ?? ranges.get(`${name.split("/", 1)[0]}/*`) ?? ranges.get("*/*") ?? 0;
  let best: PageType | undefined;
  let bestWeight = 0;
  for (const [name, type] of OFFERED) {
    if (weightOf(name) <= bestWeight) continue;
    best = type;
    bestWeight = weightOf(name);
  }
  return best;
}

/** Parses `text/html;q=0.8` (RFC 9110 §12.5.1). */
function parseRange(text: string): [name: string, weight: number] {
  const [name = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, "");
  return [name, weight === undefined ? 1 : Number(weight) || 0];
}
