/** Compiles where a request has the uid whose rights decide, and what that uid stands for in refusals. */
import { type DescField, type DescMessage, type DescMethod, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { iamScope } from "@holt/api";

export interface Scope {
  scopeOf(request: Message): string;
  /** Message name of the resource that the uid stands for. */
  readonly scopeKind: string;
  /** Proto name of the field if it names the parent of what the call creates or lists. */
  readonly parentField: string | undefined;
}

/** Message names of the resources that the operations of a service are about, and of their parents. */
export interface ServiceKinds {
  /** Undefined if the names of the operations say it. */
  readonly kind: string | undefined;
  readonly parentKind: string;
}

/** @returns undefined if no field of the request is marked as its scope */
export function compileScope(method: DescMethod, kinds: ServiceKinds): Scope | undefined {
  const path = scopePath(method.input);
  const field = path?.at(-1);
  if (path === undefined || field === undefined) return undefined;
  const names = path.map(({ localName }) => localName);
  const parentField = isParent(method, field) ? field.name : undefined;
  return { scopeOf: (request) => readPath(request, names), scopeKind: kindIn(field, method, kinds), parentField };
}

/** From the request down to the string field with the scope, through marked message fields. */
function scopePath(message: DescMessage): readonly DescField[] | undefined {
  for (const field of message.fields) {
    if (!hasOption(field, iamScope) || !getOption(field, iamScope)) continue;
    if (field.fieldKind === "scalar") return [field];
    const inner = field.fieldKind === "message" ? scopePath(field.message) : undefined;
    if (inner !== undefined) return [field, ...inner];
  }
  return undefined;
}

function readPath(request: Message, names: readonly string[]): string {
  let value: unknown = request;
  for (const name of names) value = (value as Record<string, unknown> | undefined)?.[name];
  return typeof value === "string" ? value : "";
}

/** Version 1 names some parents by their kind: `group`, `repo_id`. */
function isParent({ name: method }: DescMethod, { name }: DescField): boolean {
  return /^parent(_id)?$/.test(name) || (method.startsWith("Create") && !/^u?id$/.test(name));
}

function kindIn({ name }: DescField, method: DescMethod, { kind, parentKind }: ServiceKinds): string {
  if (/^parent(_id)?$/.test(name)) return parentKind;
  if (/^u?id$/.test(name)) return kind ?? kindOf(method);
  // The registry of an organization has the uid of the organization.
  const named = name.replace(/_u?id$/, "").replace(/^registry$/, "group");
  return named.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function kindOf({ name }: DescMethod): string {
  return name.replace(/^(Get|Create|Update|Delete|BatchCreate|BatchDelete)(?=[A-Z])/, "");
}
