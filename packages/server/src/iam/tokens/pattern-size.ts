/** How big a pattern would become, told from its text before anything is compiled. Pure; what a pattern means, and whether it is one, is pattern.ts. */

export interface PatternSize {
  /** Instructions at most: each atom, as often as the repeats around it say. */
  readonly instructions: number;
  /** `\p` and `\P`, in brackets and outside: each is a table of hundreds of ranges. */
  readonly unicodeClasses: number;
  /** Whether a range that ends beyond ASCII is to be folded to both cases, one character after the other. */
  readonly foldsWideRange: boolean;
}

/** Quotations, escapes, classes in brackets, flags, the beginnings of groups, counted repeats, and every other character by itself. */
const TOKEN =
  /\(\?[A-Za-z-]+\)|\((?:\?(?:P?<\w+>|[A-Za-z-]*:))?|\\Q[\s\S]*?(?:\\E|$)|\\[pP](?:\{[^}]*\}|.)|\\x\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\[\s\S]|[^\]\\])*\]|\{(\d+)(,?)(\d*)\}|[\s\S]/gu;
const FOLDING = /\(\?[A-Za-z]*i/;
const WIDE_RANGE = /-(?:\\x\{|[^\0-\x7f])/u;

/** Counts too much rather than too little. */
export function patternSize(text: string): PatternSize {
  const folds = FOLDING.test(text);
  let unicodeClasses = 0;
  let foldsWideRange = false;
  /** What the open groups hold so far, the innermost last; and how big the last thing in each is, which is what a repeat repeats. */
  const groups = [{ size: 0, last: 0 }];
  let group = groups[0] as { size: number; last: number };
  const append = (size: number): void => {
    group.size += size;
    group.last = size;
  };

  for (const [token, least, comma, most] of text.matchAll(TOKEN)) {
    // Flags are no thing to repeat: a repeat behind them means what is before them.
    if (token.startsWith("(?") && token.endsWith(")")) continue;
    if (token.startsWith("(")) {
      group = { size: 0, last: 0 };
      groups.push(group);
    } else if (token === ")" && groups.length > 1) {
      const { size } = groups.pop() as { size: number };
      group = groups.at(-1) as { size: number; last: number };
      append(size + 2);
    } else if (least !== undefined) {
      // `{2,}` is two and a star.
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
