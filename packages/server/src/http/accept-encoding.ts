/** Reads which codings of content a client takes (RFC 9110 §12.5.3). Pure. */
import type { HttpRequest } from "./http-exchange.ts";

const PATTERNS = { gzip: patternOf("gzip|x-gzip"), br: patternOf("br") };

/** Whether the client names the coding, with a weight above 0. */
export function takesCoding({ headers }: Pick<HttpRequest, "headers">, coding: keyof typeof PATTERNS): boolean {
  return String(headers["accept-encoding"] ?? "")
    .split(",")
    .some((each) => PATTERNS[coding].test(each));
}

function patternOf(names: string): RegExp {
  return new RegExp(`^\\s*(?:${names})\\s*(?:;\\s*q=(?!0(?:\\.0*)?\\s*$).*)?$`, "i");
}
