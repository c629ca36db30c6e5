/** Which types of events a subscription receives. Pure. */

/** Types per subscription. */
export const MAX_TYPES = 100;
const MAX_LENGTH = 200;
const TYPE = /^[a-z0-9_]+(?:\.[a-z0-9_]+)*(?:\.\*)?$/;
const ANY_BELOW = ".*";

export type TypeFilter = (type: string) => boolean;

export function isTypePattern(text: string): boolean {
  return text.length <= MAX_LENGTH && TYPE.test(text);
}

/**
 * @param patterns types with or without the prefix; `api.iam.*` stands for all types below `api.iam`. None means all types
 * @param prefix of every type that this server emits
 */
export function compileTypeFilter(patterns: readonly string[], prefix: string): TypeFilter {
  if (patterns.length === 0) return () => true;
  const exact = new Set(patterns);
  const beginnings = patterns.filter((pattern) => pattern.endsWith(ANY_BELOW)).map((pattern) => pattern.slice(0, -1));
  const matches = (type: string) => exact.has(type) || beginnings.some((beginning) => type.startsWith(beginning));
  return (type) => matches(type) || (type.startsWith(`${prefix}.`) && matches(type.slice(prefix.length + 1)));
}

/** The types as they may be stored: as given, and with the prefix. PostgreSQL allows no NUL in a text, so no type contains one. */
export function typeSpellings(types: readonly string[], prefix: string): string[] {
  return types.flatMap((type) => (type.includes("\0") ? [] : [type, `${prefix}.${type}`]));
}
