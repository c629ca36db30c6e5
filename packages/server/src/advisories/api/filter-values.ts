/** Cleans the values of filters that clients send. Pure. */

/** Undefined without a filter; an empty string is not a filter. Values that no row can hold are dropped. */
export function withText(values: readonly string[]): readonly string[] | undefined {
  const given = [...new Set(values)].filter((value) => value !== "");
  // PostgreSQL allows no NUL in a text.
  return given.length === 0 ? undefined : given.filter((value) => !value.includes("\0"));
}
