/** Values of filters as clients send them. Pure. */

/** Undefined where nothing is asked: the empty text is no filter. What no row can hold is left out of what is. */
export function withText(values: readonly string[]): readonly string[] | undefined {
  const given = [...new Set(values)].filter((value) => value !== "");
  // PostgreSQL knows no NUL in a text.
  return given.length === 0 ? undefined : given.filter((value) => !value.includes("\0"));
}
