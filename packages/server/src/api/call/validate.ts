/** Checks the required fields of requests by their field behaviors (AIP-203). Handlers check all other rules. */
import { create, type DescField, type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { fieldBehavior } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { type FieldViolation, invalidArguments } from "../../lib/errors.ts";

type Check = (request: Record<string, unknown>, violations: FieldViolation[]) => void;

/**
 * Compiles the check of a request message. Required scalars must not be empty, and required lists must have an element. A missing required
 * message becomes an empty one, so that the resource's own rules name the missing fields.
 */
export function compileValidator(schema: DescMessage): (request: Message) => void {
  const checks = schema.fields.filter(isRequired).flatMap((field) => checkOf(field) ?? []);
  if (checks.length === 0) return () => {};
  return (request) => {
    const violations: FieldViolation[] = [];
    for (const check of checks) check(request as unknown as Record<string, unknown>, violations);
    if (violations.length > 0) throw invalidArguments(violations);
  };
}

function isRequired(field: DescField): boolean {
  return hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(FieldBehavior.REQUIRED);
}

function checkOf(field: DescField): Check | undefined {
  const { localName, name } = field;
  if (field.fieldKind === "message") {
    const { message } = field;
    return (request) => {
      request[localName] ??= create(message);
    };
  }
  if (field.fieldKind === "list") {
    return (request, violations) => {
      if ((request[localName] as unknown[]).length === 0)
        violations.push({ field: name, description: `${name} must have at least one element` });
    };
  }
  if (field.fieldKind === "enum") {
    return (request, violations) => {
      if (request[localName] === 0) violations.push({ field: name, description: `${name} is required` });
    };
  }
  if (field.fieldKind === "scalar") {
    return (request, violations) => {
      if (request[localName] === "") violations.push({ field: name, description: `${name} is required` });
    };
  }
  return undefined;
}
