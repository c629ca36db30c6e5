/**
 * Parses untrusted JSON and rejects duplicate names in an object, because two parsers could pick different values.
 * Pure.
 */

/**
 * RFC 8259 §4 leaves the meaning of duplicate names open; RFC 7519 §4 allows a parser of claims to reject them.
 * @throws SyntaxError where the text is not JSON, is nested too deep, or has an object with a duplicate name
 */
export function parseStrictJson(text: string, maxDepth = 32): unknown {
  const value: unknown = JSON.parse(text);
  assertNoDuplicates(text, maxDepth);
  return value;
}

/**
 * Scans well-formed text once. `open` holds the names seen so far in each open object, and undefined for each open
 * array.
 */
function assertNoDuplicates(text: string, maxDepth: number): void {
  const open: (Set<string> | undefined)[] = [];
  let expectsName = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      const end = closingQuote(text, i);
      if (expectsName) addName(open.at(-1), text.slice(i, end + 1));
      expectsName = false;
      i = end;
    } else if (char === "{" || char === "[") {
      if (open.push(char === "{" ? new Set() : undefined) > maxDepth) throw new SyntaxError("nested too deep");
      expectsName = char === "{";
    } else if (char === "}" || char === "]") {
      open.pop();
    } else if (char === ",") {
      expectsName = open.at(-1) !== undefined;
    }
  }
}

function closingQuote(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i;
}

/** Compares names after decoding their escapes. */
function addName(names: Set<string> | undefined, quoted: string): void {
  const name = JSON.parse(quoted) as string;
  if (names?.has(name)) throw new SyntaxError("an object has the same name twice");
  names?.add(name);
}
