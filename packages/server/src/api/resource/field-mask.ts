/** Applies the field mask of an update to a stored message (AIP-134, AIP-161). */
import {
  clearField,
  clone,
  create,
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  isFieldSet,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { fieldBehavior } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { invalidArgument } from "../../lib/errors.ts";

export interface Mask {
  readonly paths: readonly string[];
}

/**
 * A copy of `current` with the fields that the mask names taken from `incoming`. An empty or absent mask names the fields that are set in
 * `incoming`; `*` names every writable field. Output-only paths are ignored, since clients echo whole resources.
 * @throws INVALID_ARGUMENT on update_mask for a path that the message does not have
 */
export function applyMask<Desc extends DescMessage>(
  schema: Desc,
  current: MessageShape<Desc>,
  incoming: MessageShape<Desc>,
  mask: Mask | undefined,
): MessageShape<Desc> {
  const next = clone(schema, current);
  const from = reflect(schema, incoming);
  const to = reflect(schema, next);
  const paths = mask === undefined || mask.paths.length === 0 ? setPaths(schema, incoming) : mask.paths;
  // Only the last of equal paths is applied, because a mask can name one field thousands of times.
  for (const path of [...new Set(paths.toReversed())].toReversed()) {
    if (path === "*") for (const field of schema.fields) copyField(field, from, to);
    else copyPath(path, from, to);
  }
  return next;
}

/** A copy without output-only fields. It shares the values of the other fields. */
export function writableFields<Desc extends DescMessage>(schema: Desc, given: MessageShape<Desc>): MessageShape<Desc> {
  const next = create(schema);
  const [from, to] = [given, next] as unknown as [Record<string, unknown>, Record<string, unknown>];
  for (const field of writableFieldsOf(schema)) {
    const { localName } = field.oneof ?? field;
    if (isFieldSet(given, field)) to[localName] = from[localName];
  }
  return next;
}

/** Reading the options of a field costs more than copying its value. */
const writable = new WeakMap<DescMessage, readonly DescField[]>();

function writableFieldsOf(schema: DescMessage): readonly DescField[] {
  const known = writable.get(schema);
  if (known !== undefined) return known;
  const fields = schema.fields.filter((field) => !isOutputOnly(field));
  writable.set(schema, fields);
  return fields;
}

function setPaths<Desc extends DescMessage>(schema: Desc, incoming: MessageShape<Desc>): string[] {
  return schema.fields.filter((field) => isFieldSet(incoming, field)).map((field) => field.name);
}

/** Accepts both spellings of a name: clients send snake_case, documentation has camelCase. */
function fieldByName(schema: DescMessage, name: string): DescField | undefined {
  return schema.fields.find((field) => field.name === name || field.jsonName === name || field.localName === name);
}

function copyPath(path: string, from: ReflectMessage, to: ReflectMessage): void {
  if (path === "") throw invalidArgument("update_mask", "has an empty path; remove the extra comma");
  const fields = writableFieldsAlong(path, to.desc);
  if (fields !== undefined) copyAlong(fields, from, to);
}

/** @returns undefined if the path leads to or through a field that only the server sets */
function writableFieldsAlong(path: string, schema: DescMessage): readonly DescField[] | undefined {
  const fields: DescField[] = [];
  let inner: DescMessage | undefined = schema;
  for (const name of path.split(".")) {
    const field: DescField = fieldIn(inner, name, { path, parent: fields.at(-1) });
    if (isOutputOnly(field)) return undefined;
    fields.push(field);
    inner = field.fieldKind === "message" ? field.message : undefined;
  }
  return fields;
}

interface Step {
  readonly path: string;
  readonly parent: DescField | undefined;
}

function fieldIn(schema: DescMessage | undefined, name: string, { path, parent }: Step): DescField {
  const shown = path.slice(0, 200);
  if (schema === undefined)
    throw invalidArgument("update_mask", `"${shown}" names a part of ${parent?.name}, which can only be replaced as a whole`);
  const field = fieldByName(schema, name);
  if (field === undefined) throw invalidArgument("update_mask", `${schema.name} has no field "${shown}"`);
  return field;
}

function copyAlong([field, ...rest]: readonly DescField[], from: ReflectMessage, to: ReflectMessage): void {
  if (field?.fieldKind === "message" && rest.length > 0) {
    // An unset message becomes an empty one, of which the rest of the path sets a field.
    const target = to.get(field);
    copyAlong(rest, from.get(field), target);
    to.set(field, target);
  } else if (field !== undefined) copyField(field, from, to);
}

function copyField(field: DescField, from: ReflectMessage, to: ReflectMessage): void {
  if (isOutputOnly(field)) return;
  if (from.isSet(field)) to.set(field, from.get(field) as never);
  else if (field.oneof === undefined || to.isSet(field)) clearField(to.message as Message, field);
}

/** Whether only the server sets the field. */
export function isOutputOnly(field: DescField): boolean {
  return hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(FieldBehavior.OUTPUT_ONLY);
}
