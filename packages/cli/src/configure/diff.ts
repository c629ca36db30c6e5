/** The difference between two texts, line by line. Pure. */

export interface DiffLine {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

/** Lines around a change that are shown. */
const CONTEXT = 2;

/** By the longest common subsequence; settings files are small. */
export function diff(before: string, after: string): DiffLine[] {
  const a = linesOf(before);
  const b = linesOf(after);
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (lengths[i] as Uint32Array)[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: " ", text: a[i] ?? "" });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) lines.push({ sign: "-", text: a[i++] ?? "" });
    else lines.push({ sign: "+", text: b[j++] ?? "" });
  }
  const isNear = (index: number) => lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== " ");
  return lines.filter((_, index) => isNear(index));
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
