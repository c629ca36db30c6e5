/** Finds the known name that a mistyped one probably meant. */

const MAX_DISTANCE = 3;

export function nearest(unknown: string, known: readonly string[]): string | undefined {
  const [best] = known.map((name) => ({ name, far: distance(name, unknown) })).sort((a, b) => a.far - b.far);
  return best !== undefined && best.far <= Math.min(MAX_DISTANCE, unknown.length / 2) ? best.name : undefined;
}

/** The number of characters to insert, delete or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, character] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (b[j] === character ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}
