/** In which form a client wants a page (PEP 691, "Version + Format Selection"). Pure. */
import type { PageFormat } from "../simple-pages.ts";

export interface PageType {
  readonly format: PageFormat;
  readonly contentType: string;
}

const JSON_V1 = "application/vnd.pypi.simple.v1+json";
const HTML_V1 = "application/vnd.pypi.simple.v1+html";
const AS_HTML: PageType = { format: "html", contentType: "text/html; charset=utf-8" };
const AS_JSON: PageType = { format: "json", contentType: JSON_V1 };

/** Of equally wanted ones the first is taken; older clients, that say nothing or anything, want `text/html`. */
const OFFERED: readonly (readonly [name: string, PageType])[] = [
  ["text/html", AS_HTML],
  [JSON_V1, AS_JSON],
  [HTML_V1, { format: "html", contentType: HTML_V1 }],
  ["application/vnd.pypi.simple.latest+json", AS_JSON],
  ["application/vnd.pypi.simple.latest+html", { format: "html", contentType: HTML_V1 }],
];

/** @returns undefined where the client takes nothing that is offered */
export function pageTypeFrom(accept: string | undefined): PageType | undefined {
  if (accept === undefined || accept.trim() === "") return AS_HTML;
  const wanted = new Map(accept.split(",").map(rangeFrom));
  const weigh = (name: string) => wanted.get(name) ?? wanted.get(`${name.split("/", 1)[0]}/*`) ?? wanted.get("*/*") ?? 0;
  let [best, weight]: [PageType | undefined, number] = [undefined, 0];
  for (const [name, type] of OFFERED) {
    if (weigh(name) > weight) [best, weight] = [type, weigh(name)];
  }
  return best;
}

/** RFC 9110 §12.5.1: `text/html;q=0.8`. */
function rangeFrom(text: string): [name: string, weight: number] {
  const [name = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, "");
  return [name, weight === undefined ? 1 : Number(weight) || 0];
}
