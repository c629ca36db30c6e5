/** Reduces two states of a resource, as JSON objects, to the fields that differ. Pure. */
export function changedFields(before: string, after: string): { before: string; after: string } {
  const old = JSON.parse(before) as Record<string, unknown>;
  const young = JSON.parse(after) as Record<string, unknown>;
  for (const name of Object.keys(old)) {
    if (!(name in young) || !isEqual(old[name], young[name])) continue;
    delete old[name];
    delete young[name];
  }
  return { before: JSON.stringify(old), after: JSON.stringify(young) };
}

/** Both have the order of members that their encoder gives. Another order would only keep a field that does not differ. */
function isEqual(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}
