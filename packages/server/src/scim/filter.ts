/**
 * Parses filters (RFC 7644 §3.4.2.2) into trees. match.ts evaluates a tree on a resource, filter-sql.ts compiles it to
 * SQL. Pure.
 */
import { isStorableText } from "../lib/clean-text.ts";
import { type AttributePath, findAttribute, findAttributePath } from "./attribute-path.ts";
import type { Attribute, ResourceType } from "./schema.ts";
import { badRequest, type ScimError } from "./scim-error.ts";

export type Operator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";
export type Literal = string | number | boolean | null;

export type Filter =
  | { readonly kind: "and" | "or"; readonly terms: readonly Filter[] }
  | { readonly kind: "not"; readonly term: Filter }
  | { readonly kind: "present"; readonly path: AttributePath }
  | { readonly kind: "compare"; readonly path: AttributePath; readonly operator: Operator; readonly value: Literal }
  /** `emails[type eq "work"]`: a single value must fulfil the whole inner filter. */
  | { readonly kind: "value"; readonly path: AttributePath; readonly filter: Filter };

/** What the attribute names refer to: the resource, or within brackets a value of the attribute. */
export type FilterScope = ResourceType | Attribute;

const MAX_FILTER_LENGTH = 8_000;
const MAX_TERMS = 100;
const MAX_DEPTH = 20;
const OPERATORS: ReadonlySet<string> = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|(\.?[A-Za-z$_][\w$.:-]*))/y;

/** @throws ScimError invalidFilter */
export function parseFilter(scope: FilterScope, text: string): Filter {
  const reader = new FilterReader(text);
  const filter = reader.readFilter(scope);
  reader.assertEnd();
  return filter;
}

/** Reads tokens from left to right. Also reads the paths of PATCH, which contain filters. */
export class FilterReader {
  readonly #tokens: string[] = [];
  #next = 0;
  #terms = 0;
  #depth = 0;

  constructor(text: string) {
    if (text.length > MAX_FILTER_LENGTH) throw invalidFilter(`longer than ${MAX_FILTER_LENGTH} characters`);
    TOKEN.lastIndex = 0;
    const end = text.trimEnd().length;
    while (TOKEN.lastIndex < end) {
      const at = TOKEN.lastIndex;
      const token = TOKEN.exec(text)?.[0].trim();
      if (token === undefined) throw invalidFilter(`unexpected characters at ${JSON.stringify(text.slice(at, at + 20))}`);
      this.#tokens.push(token);
    }
  }

  /** @returns undefined at the end */
  peek(): string | undefined {
    return this.#tokens[this.#next];
  }

  take(): string {
    const token = this.#tokens[this.#next++];
    if (token === undefined) throw invalidFilter("it ends too early");
    return token;
  }

  expect(token: string): void {
    if (this.take() !== token) throw invalidFilter(`expected ${token}`);
  }

  assertEnd(): void {
    if (this.#next < this.#tokens.length) throw invalidFilter(`unexpected ${JSON.stringify(this.peek())}`);
  }

  readFilter(scope: FilterScope): Filter {
    if (++this.#depth > MAX_DEPTH) throw invalidFilter("nested too deep");
    const filter = this.#readJoined("or", () => this.#readJoined("and", () => this.#readTerm(scope)));
    this.#depth--;
    return filter;
  }

  /** `and` binds tighter than `or`. */
  #readJoined(kind: "and" | "or", read: () => Filter): Filter {
    const terms = [read()];
    while (this.peek()?.toLowerCase() === kind) {
      this.take();
      terms.push(read());
    }
    return terms.length === 1 ? (terms[0] as Filter) : { kind, terms };
  }

  #readTerm(scope: FilterScope): Filter {
    if (++this.#terms > MAX_TERMS) throw invalidFilter(`more than ${MAX_TERMS} terms`);
    if (this.peek()?.toLowerCase() === "not") {
      this.take();
      return { kind: "not", term: this.#readGroup(scope) };
    }
    return this.peek() === "(" ? this.#readGroup(scope) : this.#readComparison(scope);
  }

  #readGroup(scope: FilterScope): Filter {
    this.expect("(");
    const filter = this.readFilter(scope);
    this.expect(")");
    return filter;
  }

  #readComparison(scope: FilterScope): Filter {
    const path = requirePath(scope, this.take());
    if (this.peek() !== "[") return this.#readOperator(path);
    const inner = this.readBrackets(path);
    // `emails[type eq "work"].value eq "…"` is not a filter of the RFC, but some directories send it.
    if (this.peek()?.startsWith(".") !== true) return { kind: "value", path, filter: inner };
    const compared = this.#readOperator(requirePath(path.attribute, this.take().slice(1)));
    return { kind: "value", path, filter: { kind: "and", terms: [inner, compared] } };
  }

  readBrackets({ attribute }: AttributePath): Filter {
    if (attribute.sub.length === 0) throw invalidFilter(`${attribute.name} has no sub-attributes`);
    this.expect("[");
    const filter = this.readFilter(attribute);
    this.expect("]");
    return filter;
  }

  #readOperator(path: AttributePath): Filter {
    const operator = this.take().toLowerCase();
    if (operator === "pr") return { kind: "present", path };
    if (!OPERATORS.has(operator)) throw invalidFilter(`${JSON.stringify(operator)} is not an operator`);
    const value = parseLiteral(this.take());
    assertComparable(path, operator as Operator, value);
    return { kind: "compare", path, operator: operator as Operator, value };
  }
}

/** Comparisons, at any depth. */
export function countTerms(filter: Filter): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.reduce((sum, term) => sum + countTerms(term), 0);
    case "not":
      return countTerms(filter.term);
    case "value":
      return countTerms(filter.filter);
    default:
      return 1;
  }
}

/** The attribute that a comparison with the path compares: the sub-attribute, or `value`, or the attribute itself. */
export function comparedAttribute({ attribute, sub }: AttributePath): Attribute {
  return sub ?? attribute.sub.find(({ name }) => name === "value") ?? attribute;
}

function requirePath(scope: FilterScope, text: string): AttributePath {
  const path = "endpoint" in scope ? findAttributePath(scope, text) : findSubPath(scope, text);
  if (path === undefined) throw invalidFilter(`${JSON.stringify(text.slice(0, 100))} is not an attribute of ${scope.name}`);
  if (path.attribute.isSecret) throw invalidFilter(`${path.attribute.name} cannot be searched`);
  return path;
}

function findSubPath(scope: Attribute, text: string): AttributePath | undefined {
  const attribute = findAttribute(scope.sub, text);
  return attribute && { extension: undefined, attribute, sub: undefined };
}

function parseLiteral(token: string): Literal {
  const keyword = token.toLowerCase();
  if (keyword === "true" || keyword === "false") return keyword === "true";
  if (keyword === "null") return null;
  try {
    const value: unknown = JSON.parse(token);
    if (typeof value === "string" || typeof value === "number") return checkLiteral(value);
  } catch {
    // Handled below.
  }
  throw invalidFilter(`${token.slice(0, 100)} is not a value; strings need double quotes`);
}

function checkLiteral(value: string | number): string | number {
  if (typeof value === "string" && !isStorableText(value)) throw invalidFilter("a string contains characters that no value can have");
  return value;
}

/** RFC 7644 §3.4.2.2: booleans and binary values have no order. */
function assertComparable(path: AttributePath, operator: Operator, value: Literal): void {
  const { name, type, sub } = comparedAttribute(path);
  const isOrder = operator === "gt" || operator === "ge" || operator === "lt" || operator === "le";
  if (sub.length > 0 && value !== null) throw invalidFilter(`${name} has sub-attributes: compare one of them`);
  if (isOrder && (type === "boolean" || type === "binary" || value === null || typeof value === "boolean"))
    throw invalidFilter(`${name} cannot be compared by ${operator}`);
  if (type === "dateTime" && value !== null && Number.isNaN(Date.parse(String(value))))
    throw invalidFilter(`${name} must be compared with a time`);
}

function invalidFilter(reason: string): ScimError {
  return badRequest("invalidFilter", `invalid filter: ${reason}`);
}
