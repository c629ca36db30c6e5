/** Filters of RFC 7644 §3.4.2.2: text to tree. What a tree means for a resource is match.ts, for the database filter-sql.ts. Pure. */
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
  /** `emails[type eq "work"]`: one and the same value has to fulfil all of it. */
  | { readonly kind: "value"; readonly path: AttributePath; readonly filter: Filter };

/** Within brackets, attributes are those of the value. */
export type Scope = ResourceType | Attribute;

const MAX_LENGTH = 8_000;
const MAX_TERMS = 100;
const MAX_DEPTH = 20;
const OPERATORS: ReadonlySet<string> = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|(\.?[A-Za-z$_][\w$.:-]*))/y;

/** @throws ScimError invalidFilter */
export function parseFilter(scope: Scope, text: string): Filter {
  const reader = new FilterReader(text);
  const filter = reader.readFilter(scope);
  reader.assertEnd();
  return filter;
}

/** Reads from left to right; also paths of PATCH, which have filters in them. */
export class FilterReader {
  readonly #tokens: string[] = [];
  #next = 0;
  #terms = 0;
  #depth = 0;

  constructor(text: string) {
    if (text.length > MAX_LENGTH) throw invalid(`longer than ${MAX_LENGTH} characters`);
    TOKEN.lastIndex = 0;
    const end = text.trimEnd().length;
    while (TOKEN.lastIndex < end) {
      const at = TOKEN.lastIndex;
      const token = TOKEN.exec(text)?.[0].trim();
      if (token === undefined) throw invalid(`nothing that is understood at ${JSON.stringify(text.slice(at, at + 20))}`);
      this.#tokens.push(token);
    }
  }

  /** Undefined at the end. */
  peek(): string | undefined {
    return this.#tokens[this.#next];
  }

  take(): string {
    const token = this.#tokens[this.#next++];
    if (token === undefined) throw invalid("it ends too early");
    return token;
  }

  expect(token: string): void {
    if (this.take() !== token) throw invalid(`a ${token} is missing`);
  }

  assertEnd(): void {
    if (this.#next < this.#tokens.length) throw invalid(`${JSON.stringify(this.peek())} was not expected`);
  }

  readFilter(scope: Scope): Filter {
    if (++this.#depth > MAX_DEPTH) throw invalid("nested too deep");
    const filter = this.#readJoined("or", () => this.#readJoined("and", () => this.#readTerm(scope)));
    this.#depth--;
    return filter;
  }

  /** `and` binds closer than `or`. */
  #readJoined(kind: "and" | "or", read: () => Filter): Filter {
    const terms = [read()];
    while (this.peek()?.toLowerCase() === kind) {
      this.take();
      terms.push(read());
    }
    return terms.length === 1 ? (terms[0] as Filter) : { kind, terms };
  }

  #readTerm(scope: Scope): Filter {
    if (++this.#terms > MAX_TERMS) throw invalid(`more than ${MAX_TERMS} terms`);
    if (this.peek()?.toLowerCase() === "not") {
      this.take();
      return { kind: "not", term: this.#readGroup(scope) };
    }
    return this.peek() === "(" ? this.#readGroup(scope) : this.#readComparison(scope);
  }

  #readGroup(scope: Scope): Filter {
    this.expect("(");
    const filter = this.readFilter(scope);
    this.expect(")");
    return filter;
  }

  #readComparison(scope: Scope): Filter {
    const path = pathIn(scope, this.take());
    if (this.peek() !== "[") return this.#readOperator(path);
    const inner = this.readBrackets(path);
    // `emails[type eq "work"].value eq "…"` is no filter of the RFC, but one that is sent.
    if (this.peek()?.startsWith(".") !== true) return { kind: "value", path, filter: inner };
    const compared = this.#readOperator(pathIn(path.attribute, this.take().slice(1)));
    return { kind: "value", path, filter: { kind: "and", terms: [inner, compared] } };
  }

  readBrackets({ attribute }: AttributePath): Filter {
    if (attribute.sub.length === 0) throw invalid(`${attribute.name} has no sub-attributes`);
    this.expect("[");
    const filter = this.readFilter(attribute);
    this.expect("]");
    return filter;
  }

  #readOperator(path: AttributePath): Filter {
    const operator = this.take().toLowerCase();
    if (operator === "pr") return { kind: "present", path };
    if (!OPERATORS.has(operator)) throw invalid(`${JSON.stringify(operator)} is no operator`);
    const value = literalFrom(this.take());
    assertComparable(path, operator as Operator, value);
    return { kind: "compare", path, operator: operator as Operator, value };
  }
}

/** The attribute whose values a comparison with the path compares. */
export function comparedAttribute({ attribute, sub }: AttributePath): Attribute {
  return sub ?? attribute.sub.find(({ name }) => name === "value") ?? attribute;
}

function pathIn(scope: Scope, text: string): AttributePath {
  const path = "endpoint" in scope ? findAttributePath(scope, text) : pathOfSub(scope, text);
  if (path === undefined) throw invalid(`${JSON.stringify(text.slice(0, 100))} is no attribute of ${scope.name}`);
  if (path.attribute.isSecret) throw invalid(`${path.attribute.name} cannot be searched`);
  return path;
}

function pathOfSub(scope: Attribute, text: string): AttributePath | undefined {
  const attribute = findAttribute(scope.sub, text);
  return attribute && { extension: undefined, attribute, sub: undefined };
}

function literalFrom(token: string): Literal {
  const word = token.toLowerCase();
  if (word === "true" || word === "false") return word === "true";
  if (word === "null") return null;
  try {
    const value: unknown = JSON.parse(token);
    if (typeof value === "string" || typeof value === "number") return textOf(value);
  } catch {
    // Said below.
  }
  throw invalid(`${token.slice(0, 100)} is no value; texts have double quotes`);
}

function textOf(value: string | number): string | number {
  if (typeof value === "string" && (value.includes("\0") || !value.isWellFormed()))
    throw invalid("a text has characters that no value can have");
  return value;
}

/** RFC 7644 §3.4.2.2: what has no order is not compared by it. */
function assertComparable(path: AttributePath, operator: Operator, value: Literal): void {
  const { name, type, sub } = comparedAttribute(path);
  const isOrder = operator === "gt" || operator === "ge" || operator === "lt" || operator === "le";
  if (sub.length > 0 && value !== null) throw invalid(`${name} has sub-attributes: compare one of them`);
  if (isOrder && (type === "boolean" || type === "binary" || value === null || typeof value === "boolean"))
    throw invalid(`${name} cannot be compared by ${operator}`);
  if (type === "dateTime" && value !== null && Number.isNaN(Date.parse(String(value)))) throw invalid(`${name} is compared with a time`);
}

function invalid(what: string): ScimError {
  return badRequest("invalidFilter", `the filter cannot be understood: ${what}`);
}
