/** Pull tokens as a resource: their columns, filters and rules. */
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type PullToken, PullTokenSchema } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { patternFault } from "../../access/repository-patterns.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import { dateFromTimestamp, millisecondsFromDuration } from "../../lib/clock.ts";
import { type FieldViolation, invalidArgument } from "../../lib/errors.ts";
import { isKnownRight, isRightToImages } from "./rights.ts";

export const DAY_MS = 24 * 3_600_000;
const MAX_LIFETIME_MS = 365 * DAY_MS;
const MAX_PATTERNS = 50;

export const pullTokens = defineResource(PullTokenSchema, {
  table: "pull_token",
  columns: ({ creator, independent, repositories, expireTime }) => ({
    creator,
    independent: independent ? 1 : 0,
    repositories: JSON.stringify(repositories),
    expire_time: expireTime === undefined ? "" : dateFromTimestamp(expireTime).toISOString(),
  }),
  filters: { name: "name", creator: "creator" },
  orderBy: ["uid", "name", "create_time", "expire_time"],
  check(token) {
    assertName(token.name);
    assertNone([...descriptionViolations(token.description), ...rightViolations(token), ...repositoryViolations(token)]);
  },
});

function rightViolations({ rights }: PullToken): FieldViolation[] {
  if (rights.length === 0) return [{ field: "rights", description: "rights must have at least one element" }];
  return rights.every(isKnownRight) ? [] : [{ field: "rights", description: "rights has an unknown element" }];
}

function repositoryViolations({ repositories, rights }: PullToken): FieldViolation[] {
  if (repositories.length === 0) return [];
  const violation = (description: string, field = "repositories") => [{ field, description }];
  if (repositories.length > MAX_PATTERNS) return violation(`repositories must have at most ${MAX_PATTERNS} elements`);
  if (!rights.every(isRightToImages)) return violation("repositories limits rights to images; create another token for other rights");
  return repositories.flatMap((pattern, index) => {
    const fault = patternFault(pattern);
    return fault === undefined ? [] : violation(fault, `repositories[${index}]`);
  });
}

/** In milliseconds. @throws INVALID_ARGUMENT unless it is above zero and at most 365 days */
export function lifetimeOf(ttl: Duration | undefined, defaultMs: number): number {
  if (ttl === undefined) return defaultMs;
  const ms = millisecondsFromDuration(ttl);
  if (ms > 0 && ms <= MAX_LIFETIME_MS) return ms;
  throw invalidArgument("ttl", "ttl must be a duration above zero and of at most 365 days (31536000s)");
}
