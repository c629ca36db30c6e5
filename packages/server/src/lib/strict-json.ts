/**
 * Parses untrusted JSON within limits of depth and values, and optionally rejects duplicate names in an object, because
 * two parsers could pick different values. Pure.
 */

export interface JsonLimits {
  readonly maxDepth?: number;
  /** Values and names. Each becomes an object, so a small text can take much memory. */
  readonly maxValues?: number;
}

/**
 * RFC 8259 §4 leaves the meaning of duplicate names open; RFC 7519 §4 allows a parser of claims to reject them.
 * @throws SyntaxError where the text is not JSON, is above a limit, or has an object with a duplicate name
 */
export function parseStrictJson(text: string, { maxDepth = 32, maxValues = Number.POSITIVE_INFINITY }: JsonLimits = {}): unknown {
  const value = parseBoundedJson(text, { maxDepth, maxValues });
  assertNoDuplicates(text);
  return value;
}

/** Accepts duplicate names, of which the last one counts. @throws SyntaxError where the text is not JSON or is above a limit */
export function parseBoundedJson(text: string, { maxDepth, maxValues }: Required<JsonLimits>): unknown {
  // Before parsing: the parser would build what is above the limits.
  assertBoundedJson(text, { maxDepth, maxValues });
  return JSON.parse(text);
}

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [...'"\\,:[]{}'].map((char) =>
  char.charCodeAt(0),
) as [number, number, number, number, number, number, number, number];

/** Counts the marks outside of strings. The text need not be JSON. @throws SyntaxError where it is above a limit */
export function assertBoundedJson(text: string, { maxDepth, maxValues }: Required<JsonLimits>): void {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) i = closingQuote(text, i);
    else if (char === OPEN_LIST || char === OPEN_OBJECT) {
      if (++depth > maxDepth) throw new SyntaxError("nested too deep");
      values++;
    } else if (char === CLOSE_LIST || char === CLOSE_OBJECT) depth--;
    else if (char === COMMA || char === COLON) values++;
    if (values > maxValues) throw new SyntaxError(`more than ${maxValues} values`);
  }
}

/**
 * Scans well-formed text once. `open` holds the names seen so far in each open object, and undefined for each open
 * array.
 */
function assertNoDuplicates(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let expectsName = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = closingQuote(text, i);
      if (expectsName) addName(open.at(-1), text.slice(i, end + 1));
      expectsName = false;
      i = end;
    } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      open.push(char === OPEN_OBJECT ? new Set() : undefined);
      expectsName = char === OPEN_OBJECT;
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
      open.pop();
    } else if (char === COMMA) {
      expectsName = open.at(-1) !== undefined;
    }
  }
}

/** The position of the quote that ends a string, or the end of the text. */
function closingQuote(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) return i;
    if (char === BACKSLASH) i++;
  }
  return text.length;
}

/** Compares names after decoding their escapes. */
function addName(names: Set<string> | undefined, quoted: string): void {
  const name = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (names?.has(name)) throw new SyntaxError("an object has the same name twice");
  names?.add(name);
}
