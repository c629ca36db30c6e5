/** Finds the ends of values in JSON text without spaces. Pure. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The position after the value that begins at `start`; the end of the text if the value has no end. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first === 0x7b || first === 0x5b) return endOfNested(text, start);
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // A comma, or the end of the list or object around it.
    if (code === 0x2c || code === 0x5d || code === 0x7d) return at;
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; ) {
    const end = text.indexOf('"', at);
    if (end < 0) return text.length;
    if (!isEscaped(text, end)) return end + 1;
    at = end + 1;
  }
}

/** Whether an odd number of backslashes precedes the character. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  return text.length;
}
