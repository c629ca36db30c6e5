/**
 * Estimates the size of a compiled pattern from its source, before it is compiled. pattern.ts defines what a pattern means.
 * Pure.
 */

export interface PatternSize {
  /** Upper bound: every atom, multiplied by the repetitions around it. */
  readonly instructions: number;
  /** Number of `\p` and `\P`, inside and outside brackets. Each is a table of hundreds of ranges. */
  readonly unicodeClasses: number;
  /** Whether a case-insensitive range ends beyond ASCII: the compiler folds it character by character. */
  readonly foldsWideRange: boolean;
}

/**
 * Quotations, escapes, bracket expressions, flags, group openings, counted repetitions, and any other single character.
 */
const TOKEN =
  /\(\?[A-Za-z-]+\)|\((?:\?(?:P?<\w+>|[A-Za-z-]*:))?|\\Q[\s\S]*?(?:\\E|$)|\\[pP](?:\{[^}]*\}|.)|\\x\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\[\s\S]|[^\]\\])*\]|\{(\d+)(,?)(\d*)\}|[\s\S]/gu;
const FOLDING = /\(\?[A-Za-z]*i/;
const WIDE_RANGE = /-(?:\\x\{|[^\0-\x7f])/u;

/** Overestimates rather than underestimates. */
export function estimatePatternSize(text: string): PatternSize {
  const folds = FOLDING.test(text);
  let unicodeClasses = 0;
  let foldsWideRange = false;
  /**
   * The open groups, innermost last: the size of each so far, and the size of its last element, which a repetition
   * multiplies.
   */
  const groups = [{ size: 0, last: 0 }];
  let group = groups[0] as { size: number; last: number };
  const append = (size: number): void => {
    group.size += size;
    group.last = size;
  };

  for (const [token, least, comma, most] of text.matchAll(TOKEN)) {
    // Flags cannot be repeated: a repetition after them applies to the element before them.
    if (token.startsWith("(?") && token.endsWith(")")) continue;
    if (token.startsWith("(")) {
      group = { size: 0, last: 0 };
      groups.push(group);
    } else if (token === ")" && groups.length > 1) {
      const { size } = groups.pop() as { size: number };
      group = groups.at(-1) as { size: number; last: number };
      append(size + 2);
    } else if (least !== undefined) {
      // `{2,}` compiles to two copies and a star.
      const times = Math.max(Number(least), Number(most || 0)) + (comma === "," && most === "" ? 1 : 0);
      const more = group.last * Math.max(0, times - 1) + (comma === "" ? 0 : times);
      group.size += more;
      group.last += more;
    } else if (token.startsWith("\\Q")) {
      append(1);
      group.size += token.length;
    } else if (token === "*" || token === "+" || token === "?") {
      group.size += 1;
      group.last += 1;
    } else {
      unicodeClasses += token.match(/\\[pP]/g)?.length ?? 0;
      foldsWideRange ||= folds && token.startsWith("[") && WIDE_RANGE.test(token);
      append(token === "|" ? 2 : 1);
    }
  }
  return { instructions: groups.reduce((sum, { size }) => sum + size, 0), unicodeClasses, foldsWideRange };
}
