/**
 * Parses the path templates of google.api.http (google/api/http.proto, "Path template syntax"). route-table.ts matches them.
 *
 *     Template  = "/" Segments [ ":" LITERAL ] ;
 *     Segments  = Segment { "/" Segment } ;
 *     Segment   = "*" | "**" | LITERAL | Variable ;
 *     Variable  = "{" FieldPath [ "=" Segments ] "}" ;
 *     FieldPath = IDENT { "." IDENT } ;
 *
 * One `**` may be anywhere; the original syntax allows it only at the end. A variable without a pattern is one segment.
 */

/** Matches one step of a path: a fixed text, any one segment, or any number of segments. */
export type Segment = { readonly kind: "literal"; readonly text: string } | { readonly kind: "one" } | { readonly kind: "many" };

export interface PathVariable {
  /** Proto field names from the request message down, e.g. `["repo", "uid"]`. */
  readonly field: readonly string[];
  /** The segments of the template that it captures: `start` up to, not including, `end`. */
  readonly start: number;
  readonly end: number;
}

export interface PathTemplate {
  readonly segments: readonly Segment[];
  /** Index of the segment `**`; -1 if there is none. */
  readonly many: number;
  /** The part after the last colon, as in `/groups:lookupGroup`. */
  readonly verb: string | undefined;
  readonly variables: readonly PathVariable[];
}

/** @throws Error that quotes a template with invalid syntax */
export function parsePathTemplate(text: string): PathTemplate {
  return new Parser(text).template();
}

const LITERAL = /[^/{}=:*]+/y;
const IDENT = /[A-Za-z_][A-Za-z0-9_]*/y;

class Parser {
  readonly #text: string;
  #at = 0;
  readonly #segments: Segment[] = [];
  readonly #variables: PathVariable[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  template(): PathTemplate {
    this.#expect("/");
    this.#segmentList(true);
    const verb = this.#accept(":") ? this.#match(LITERAL, "a verb") : undefined;
    if (this.#at < this.#text.length) this.#fail("the end");
    if (this.#segments.filter((segment) => segment.kind === "many").length > 1) this.#fail("at most one **");
    const many = this.#segments.findIndex((segment) => segment.kind === "many");
    return { segments: this.#segments, many, verb, variables: this.#variables };
  }

  #segmentList(mayHaveVariables: boolean): void {
    do this.#segment(mayHaveVariables);
    while (this.#accept("/"));
  }

  #segment(mayBeVariable: boolean): void {
    if (mayBeVariable && this.#accept("{")) this.#variable();
    else if (this.#accept("**")) this.#segments.push({ kind: "many" });
    else if (this.#accept("*")) this.#segments.push({ kind: "one" });
    else this.#segments.push({ kind: "literal", text: this.#match(LITERAL, "a segment") });
  }

  #variable(): void {
    const field = [this.#match(IDENT, "a field name")];
    while (this.#accept(".")) field.push(this.#match(IDENT, "a field name"));
    const start = this.#segments.length;
    if (this.#accept("=")) this.#segmentList(false);
    else this.#segments.push({ kind: "one" });
    this.#expect("}");
    this.#variables.push({ field, start, end: this.#segments.length });
  }

  #accept(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #expect(token: string): void {
    if (!this.#accept(token)) this.#fail(token);
  }

  #match(pattern: RegExp, what: string): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? this.#fail(what);
    this.#at += found.length;
    return found;
  }

  #fail(expected: string): never {
    throw new Error(`path template ${this.#text}: expected ${expected} at position ${this.#at}`);
  }
}
