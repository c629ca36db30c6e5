/** Finds the version 2 field behind each field of a version 1 message: by rules of names, or by the declared differences. */

import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";

/** How a message of version 1 differs from its version 2, beyond the rules of names. Fields have their names in the contract. */
export interface Difference {
  /** Field of version 1 → field of version 2. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Fields of version 1 without a source in version 2. They are never answered, and ignored in requests. */
  readonly absent?: readonly string[];
  /** Field of version 1 → its value, where the meaning differs. It is made from the JSON of the version 2 message; undefined omits it. */
  readonly answered?: Readonly<Record<string, (source: JsonObject) => JsonValue | undefined>>;
  /** Field with the parent, in a message that is a whole resource and also the request to create it. */
  readonly parent?: string;
  /** Fields that an update without them leaves as they are. */
  readonly keptIfUnset?: readonly string[];
  /** Sets fields of the version 2 message whose meaning differs. Called after all other fields are converted. */
  received?(given: never, converted: never): void;
}

/** By the full name of the version 1 message. */
export type Differences = Readonly<Record<string, Difference>>;

/** One field in both versions. */
export interface FieldPair {
  readonly v1: DescField;
  readonly v2: DescField;
  /** Whether the values have the same meaning, so that they convert by their types. */
  readonly isConvertible: boolean;
}

/** @throws Error that names the field, if a field of version 1 has no source and is not declared absent */
export function pairFields(v2: DescMessage, v1: DescMessage, differences: Differences): FieldPair[] {
  const { renamed = {}, absent = [], answered = {} } = differences[v1.typeName] ?? {};
  return v1.fields.flatMap((field) => {
    if (absent.includes(field.name)) return [];
    const name = renamed[field.name];
    const source = name === undefined ? sourceOf(field, v2) : v2.fields.find((each) => each.name === name);
    const isAnswered = Object.hasOwn(answered, field.name);
    if (source === undefined && isAnswered) return [];
    if (source === undefined) throw new Error(`${field.parent.typeName}.${field.name}: ${v2.typeName} has no such field`);
    const isSame = haveSameKind(field, source);
    if (!isSame && !isAnswered) throw new Error(`${field.parent.typeName}.${field.name}: its type differs from ${v2.typeName}`);
    return [{ v1: field, v2: source, isConvertible: isSame }];
  });
}

/** Version 1 has `id`, `group_id`, `role_uidp` and `created_at` where version 2 has `uid`, `group_uid`, `role_uid` and `create_time`. */
function sourceOf({ name, message }: DescField, v2: DescMessage): DescField | undefined {
  const isTime = message?.typeName === "google.protobuf.Timestamp";
  const names = [
    name,
    name.replace(/(^|_)id$/, "$1uid"),
    name.replace(/_uidp$/, "_uid"),
    name.replace(/_id$/, ""),
    ...(isTime ? [name.replace(/d_at$/, "_time"), name.replace(/ed_at$/, "_time"), `${name}_time`] : []),
  ];
  return names.map((each) => v2.fields.find((field) => field.name === each)).find((field) => field !== undefined);
}

function haveSameKind(a: DescField, b: DescField): boolean {
  if (a.fieldKind !== b.fieldKind || (a.message === undefined) !== (b.message === undefined)) return false;
  return a.scalar === b.scalar && (a.enum === undefined) === (b.enum === undefined);
}
