/** Which types of events a subscription receives, and which a list shows. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { type FieldViolation, invalidArgument } from "../../lib/errors.ts";

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

export function typePatternViolation(field: string): FieldViolation {
  return { field, description: 'must be an event type, or the beginning of types and ".*"' };
}

/** The types of a list, each as it may be stored: as given, and with the prefix. */
export interface WantedTypes {
  readonly exact: readonly string[];
  /** Types that begin with one of these are wanted, too. */
  readonly beginnings: readonly string[];
}

/**
 * @param types as in `compileTypeFilter`. Unlike a subscription, a list may ask for a type that no event can have.
 * @returns undefined for all types
 * @throws INVALID_ARGUMENT for a pattern that no subscription can have, and above MAX_TYPES patterns
 */
export function wantedTypes(types: readonly string[], prefix: string): WantedTypes | undefined {
  if (types.length === 0) return undefined;
  const patterns = types.filter((type) => type.includes("*"));
  const bad = types.findIndex((type) => type.includes("*") && !isTypePattern(type));
  if (bad >= 0) throw invalidArgument(`types[${bad}]`, `types[${bad}] ${typePatternViolation("").description}`);
  if (patterns.length > MAX_TYPES) throw invalidArgument("types", `types may have at most ${MAX_TYPES} patterns`);
  const spellings = (type: string) => [type, `${prefix}.${type}`];
  // PostgreSQL allows no NUL in a text, so no type contains one.
  const exact = types.filter((type) => !type.includes("*") && !type.includes("\0"));
  return { exact: exact.flatMap(spellings), beginnings: patterns.flatMap((pattern) => spellings(pattern.slice(0, -1))) };
}

/** Whether the column `outbox.type` has one of the types. */
export function hasWantedType({ dialect }: ReadDb, { exact, beginnings }: WantedTypes): RawBuilder<boolean> {
  const type = sql.ref("outbox.type");
  const isExact = sql`${type} in (select e.value from ${dialect.valuesOf(exact)} as e)`;
  const begins = sql`exists (select 1 from ${dialect.valuesOf(beginnings)} as b where substr(${type}, 1, length(b.value)) = b.value)`;
  return beginnings.length === 0 ? sql<boolean>`${isExact}` : sql<boolean>`(${isExact} or ${begins})`;
}
