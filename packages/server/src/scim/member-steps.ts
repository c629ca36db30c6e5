/** What requests say of the members of groups, in whichever of the many ways: as steps to be done in their order. Pure. */
import type { Filter } from "./filter.ts";
import { isObject, type PatchOperation } from "./patch-request.ts";
import { badRequest, ScimError } from "./scim-error.ts";

/** What is to be done to the members, in its order. */
export type MemberStep =
  | { readonly kind: "add" | "remove" | "set"; readonly ids: readonly string[] }
  /** Of those who are members then. */
  | { readonly kind: "remove-matching"; readonly filter: Filter };

/** In one request. */
const MAX_MEMBERS = 5_000;
/** Of which each has to read all members. */
const MAX_MATCHING = 10;

/** @param value of the attribute `members` @throws ScimError */
export function memberIdsFrom(value: unknown): string[] {
  const members = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
  assertFew(members.length);
  return [...new Set(members.map(memberIdFrom))];
}

function memberIdFrom(member: unknown): string {
  const value = isObject(member) ? member.value : member;
  if (typeof value !== "string" || value === "" || value.includes("\0"))
    throw badRequest("invalidValue", "each of the members must have the id of a user as its value");
  if (isObject(member) && typeof member.type === "string" && member.type.toLowerCase() === "group") throw noGroups();
  return value;
}

/** @throws ScimError */
export function memberStepsFrom(operations: readonly PatchOperation[]): MemberStep[] {
  const steps = operations.reduce(appendStep, []);
  if (steps.filter(({ kind }) => kind === "remove-matching").length > MAX_MATCHING)
    throw new ScimError(413, undefined, `a request may have ${MAX_MATCHING} filters that name no members`);
  assertFew(steps.reduce((sum, step) => sum + ("ids" in step ? step.ids.length : 0), 0));
  return steps;
}

/** Many operations of one kind, as some directories send them, are one step. */
function appendStep(steps: MemberStep[], operation: PatchOperation): MemberStep[] {
  const step = stepFrom(operation);
  const last = steps.at(-1);
  const isSame = last !== undefined && "ids" in last && "ids" in step && last.kind === step.kind && step.kind !== "set";
  if (isSame) steps[steps.length - 1] = { kind: last.kind, ids: [...last.ids, ...step.ids] };
  else steps.push(step);
  return steps;
}

function stepFrom({ verb, target, value }: PatchOperation): MemberStep {
  const { filter, sub } = target as Extract<PatchOperation["target"], { filter: unknown }>;
  if (sub !== undefined) throw badRequest("mutability", "a member cannot be changed: remove it and add another");
  if (filter !== undefined) {
    if (verb !== "remove") throw badRequest("invalidPath", "members with a filter can only be removed");
    const ids = idsIn(filter);
    return ids === undefined ? { kind: "remove-matching", filter } : { kind: "remove", ids };
  }
  if (verb === "add") return { kind: "add", ids: memberIdsFrom(value) };
  // Entra ID names those to be removed in the value.
  if (verb === "remove" && value !== undefined && value !== null) return { kind: "remove", ids: memberIdsFrom(value) };
  return { kind: "set", ids: verb === "replace" ? memberIdsFrom(value) : [] };
}

/** Of a filter that names them; undefined for any other. */
function idsIn(filter: Filter): string[] | undefined {
  if (filter.kind === "or") {
    const ids = filter.terms.map(idsIn);
    return ids.every((each) => each !== undefined) ? ids.flat() : undefined;
  }
  const isNamed = filter.kind === "compare" && filter.operator === "eq" && filter.path.attribute.name === "value";
  return isNamed ? [String(filter.value)] : undefined;
}

function assertFew(count: number): void {
  if (count > MAX_MEMBERS)
    throw new ScimError(413, undefined, `a request may name ${MAX_MEMBERS} members, this one names ${count}: add the others by PATCH`);
}

export function noGroups(): ScimError {
  return badRequest("invalidValue", "a group cannot be a member of a group: send the users in it");
}
