/** Finds the known names that a mistyped name probably meant. */

/** Longer names are compared by their first characters only, which bounds the cost of one comparison. */
const MAX_LENGTH = 64;

/**
 * The known names that are most similar to `name`, best first. Case, `_`, `-` and `.` do not count. Empty if none is similar: a name
 * may differ in a third of its characters.
 */
export function nearestNames(name: string, known: Iterable<string>, limit = 3): readonly string[] {
  const wanted = plain(name);
  const maxDistance = Math.max(1, Math.floor(wanted.length / 3));
  const found: { readonly name: string; readonly distance: number }[] = [];
  for (const candidate of known) {
    const other = plain(candidate);
    if (Math.abs(other.length - wanted.length) > maxDistance) continue;
    const distance = distanceBetween(wanted, other);
    if (distance <= maxDistance) found.push({ name: candidate, distance });
  }
  return found
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map((one) => one.name);
}

/** A sentence part such as `; did you mean "name"?`; empty if no known name is similar. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const [nearest] = nearestNames(name, known, 1);
  return nearest === undefined ? "" : `; did you mean "${nearest}"?`;
}

function plain(name: string): string {
  return name.slice(0, MAX_LENGTH).toLowerCase().replace(/[_.-]/g, "");
}

/** Optimal string alignment: insertions, deletions, substitutions, and transpositions of adjacent characters count 1 each. */
function distanceBetween(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(at(last, j) + 1, at(row, j - 1) + 1, substitution);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, at(beforeLast, j - 2) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
