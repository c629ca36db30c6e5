/** The smallest request that reaches the handler of an operation. */
import { create, type DescField, type DescMessage, type DescMethodUnary, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { fieldBehavior, http, iamScope } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";

const MISSING = "0123456789abcdef";

/** A request whose scope is the group, or something missing in the group. Other required fields have any value. */
export function requestAt(method: DescMethodUnary, group: string): Message {
  const request = create(method.input);
  setScope(method.input, request, group);
  const rule = hasOption(method, http) ? getOption(method, http) : undefined;
  const variables = JSON.stringify(rule?.pattern.value ?? "");
  for (const field of method.input.fields) {
    const isVariable = variables.includes(`{${field.name}`);
    // A query cannot contain a list of messages, so over REST a GET cannot send one.
    if (field.fieldKind === "list" && field.listKind === "message" && rule?.body === "") continue;
    if (isRequired(field) || isVariable) setAnyValue(field, request as unknown as Record<string, unknown>);
  }
  return request;
}

function setScope(schema: DescMessage, message: Message, group: string): void {
  const values = message as unknown as Record<string, unknown>;
  for (const field of schema.fields) {
    const isMarked = (hasOption(field, iamScope) && getOption(field, iamScope)) || /^parent(_id)?$/.test(field.name);
    if (!isMarked) continue;
    if (field.fieldKind === "scalar") values[field.localName] = /^(uid|id)$/.test(field.name) ? `${group}/${MISSING}` : group;
    if (field.fieldKind === "message") {
      const inner = create(field.message);
      setScope(field.message, inner, group);
      values[field.localName] = inner;
    }
  }
}

function setAnyValue(field: DescField, values: Record<string, unknown>): void {
  const { localName } = field;
  if (field.fieldKind === "message") values[localName] ??= create(field.message);
  if (field.fieldKind === "enum") values[localName] ||= 1;
  if (field.fieldKind === "scalar" && values[localName] === "") values[localName] = "x";
  if (field.fieldKind === "list" && (values[localName] as unknown[]).length === 0)
    values[localName] = [field.listKind === "message" ? create(field.message) : field.listKind === "enum" ? 1 : "x"];
}

function isRequired(field: DescField): boolean {
  return hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(FieldBehavior.REQUIRED);
}
