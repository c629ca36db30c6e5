/** Validates the URLs of a project's pages in other repositories (PEP 708). Holt does not request them. Pure. */
import type { FieldViolation } from "../../lib/errors.ts";
import { normalizeProject } from "./python-name.ts";

const MAX_LOCATIONS = 20;
const MAX_LENGTH = 2048;
/** Matches the raw text: the WHATWG parser would repair malformed URLs. */
const RAW_URL = /^https?:\/\/[^/\\?#@\s\p{Cc}]+\/[^\\?#\s\p{Cc}]*$/iu;

/** @param key the normalized name of the project */
export function locationViolations(field: string, urls: readonly string[], key: string): FieldViolation[] {
  const description = faultOf(urls, key);
  return description === undefined ? [] : [{ field, description }];
}

function faultOf(urls: readonly string[], key: string): string | undefined {
  if (urls.length > MAX_LOCATIONS) return `must have at most ${MAX_LOCATIONS} URLs`;
  if (new Set(urls).size < urls.length) return "must not have the same URL twice";
  const bad = urls.findIndex((url) => !isPageOf(url, key));
  return bad < 0
    ? undefined
    : `URL ${bad + 1} must be the page of this project in another repository, such as https://index.example.com/simple/${key}/`;
}

function isPageOf(url: string, key: string): boolean {
  if (url.length > MAX_LENGTH || !RAW_URL.test(url) || !URL.canParse(url)) return false;
  const name = new URL(url).pathname.replace(/\/$/, "").split("/").at(-1) ?? "";
  return normalizeProject(name) === key;
}
