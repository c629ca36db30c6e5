/** Parses the many ways in which requests change group members into an ordered list of steps. Pure. */
import { isRecord } from "../lib/is-record.ts";
import type { Filter } from "./filter.ts";
import type { PatchOperation } from "./patch-request.ts";
import { badRequest, ScimError } from "./scim-error.ts";

/** One change of the members. */
export type MemberStep =
  | { readonly kind: "add" | "remove" | "set"; readonly ids: readonly string[] }
  /** Applies to the members at the time of the step. */
  | { readonly kind: "remove-matching"; readonly filter: Filter };

const MAX_MEMBERS_PER_REQUEST = 5_000;
/** Each filter reads all members of the group. */
const MAX_FILTERS_PER_REQUEST = 10;

/**
 * @param value value of the attribute `members`
 * @throws ScimError
 */
export function parseMemberIds(value: unknown): string[] {
  const members = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
  assertMemberCount(members.length);
  return [...new Set(members.map(parseMemberId))];
}

function parseMemberId(member: unknown): string {
  const value = isRecord(member) ? member.value : member;
  if (typeof value !== "string" || value === "" || value.includes("\0"))
    throw badRequest("invalidValue", "the value of each member must be the id of a user");
  if (isRecord(member) && typeof member.type === "string" && member.type.toLowerCase() === "group") throw groupAsMember();
  return value;
}

/** @throws ScimError */
export function memberStepsFromPatch(operations: readonly PatchOperation[]): MemberStep[] {
  const steps = operations.reduce(appendStep, []);
  if (steps.filter(({ kind }) => kind === "remove-matching").length > MAX_FILTERS_PER_REQUEST)
    throw new ScimError(413, undefined, `a request may have at most ${MAX_FILTERS_PER_REQUEST} member filters other than by id`);
  assertMemberCount(steps.reduce((sum, step) => sum + ("ids" in step ? step.ids.length : 0), 0));
  return steps;
}

/** Merges consecutive operations of the same kind, which some directories send one by one. */
function appendStep(steps: MemberStep[], operation: PatchOperation): MemberStep[] {
  const step = stepFromOperation(operation);
  const last = steps.at(-1);
  const isSame = last !== undefined && "ids" in last && "ids" in step && last.kind === step.kind && step.kind !== "set";
  if (isSame) steps[steps.length - 1] = { kind: last.kind, ids: [...last.ids, ...step.ids] };
  else steps.push(step);
  return steps;
}

function stepFromOperation({ verb, target, value }: PatchOperation): MemberStep {
  const { filter, sub } = target as Extract<PatchOperation["target"], { filter: unknown }>;
  if (sub !== undefined) throw badRequest("mutability", "a member cannot be changed: remove it and add another");
  if (filter !== undefined) {
    if (verb !== "remove") throw badRequest("invalidPath", "members with a filter can only be removed");
    const ids = idsNamedBy(filter);
    return ids === undefined ? { kind: "remove-matching", filter } : { kind: "remove", ids };
  }
  if (verb === "add") return { kind: "add", ids: parseMemberIds(value) };
  // Entra ID lists the members to remove in the value.
  if (verb === "remove" && value !== undefined && value !== null) return { kind: "remove", ids: parseMemberIds(value) };
  return { kind: "set", ids: verb === "replace" ? parseMemberIds(value) : [] };
}

/** Ids in a filter that only names members; undefined for any other filter. */
function idsNamedBy(filter: Filter): string[] | undefined {
  if (filter.kind === "or") {
    const ids = filter.terms.map(idsNamedBy);
    return ids.every((each) => each !== undefined) ? ids.flat() : undefined;
  }
  const isNamed = filter.kind === "compare" && filter.operator === "eq" && filter.path.attribute.name === "value";
  return isNamed ? [String(filter.value)] : undefined;
}

function assertMemberCount(count: number): void {
  if (count > MAX_MEMBERS_PER_REQUEST)
    throw new ScimError(
      413,
      undefined,
      `a request may name at most ${MAX_MEMBERS_PER_REQUEST} members, but this one names ${count}: add the others by PATCH`,
    );
}

export function groupAsMember(): ScimError {
  return badRequest("invalidValue", "a group cannot be a member of a group: send its users");
}
