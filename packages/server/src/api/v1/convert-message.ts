/** Converts request messages of version 1 to version 2. Compiled from the descriptors at boot. */
import { clone, create, type DescEnum, type DescField, type DescMessage, isFieldSet, type Message } from "@bufbuild/protobuf";
import { isOutputOnly } from "../resource/field-mask.ts";
import { type Differences, pairFields } from "./field-pairs.ts";

type Fields = Record<string, unknown>;
type Received = ((given: Message, converted: Message) => void) | undefined;
type ValueConverter = (value: unknown) => unknown;

export type MessageConverter = (given: Message) => Message;

/** @returns a converter whose results share no part that a handler may change with the given message */
export function compileMessageConverter(v1: DescMessage, v2: DescMessage, differences: Differences): MessageConverter {
  return messageConverter(v1, v2, { differences, compiled: new Map() });
}

interface Compilation {
  readonly differences: Differences;
  readonly compiled: Map<string, MessageConverter>;
}

function messageConverter(v1: DescMessage, v2: DescMessage, compilation: Compilation): MessageConverter {
  const key = `${v1.typeName} ${v2.typeName}`;
  const known = compilation.compiled.get(key);
  if (known !== undefined) return known;
  const copies: ((given: Fields, converted: Fields) => void)[] = [];
  const received = compilation.differences[v1.typeName]?.received as Received;
  const convert: MessageConverter = (given) => {
    const converted = create(v2);
    for (const copy of copies) copy(given as unknown as Fields, converted as unknown as Fields);
    received?.(given, converted);
    return converted;
  };
  compilation.compiled.set(key, convert);
  for (const pair of pairFields(v2, v1, compilation.differences)) {
    if (!pair.isConvertible) continue;
    const value = fieldConverter(pair.v1, pair.v2, compilation);
    copies.push((given, converted) => setValue(converted, pair.v2, memberOf(given, pair.v1), value));
  }
  return convert;
}

function memberOf(message: Fields, { localName, oneof }: DescField): unknown {
  if (oneof === undefined) return message[localName];
  const member = message[oneof.localName] as { readonly case: string | undefined; readonly value?: unknown };
  return member.case === localName ? member.value : undefined;
}

function setValue(message: Fields, { localName, oneof }: DescField, value: unknown, convert: ValueConverter): void {
  if (value === undefined) return;
  if (oneof === undefined) message[localName] = convert(value);
  else message[oneof.localName] = { case: localName, value: convert(value) };
}

function fieldConverter(v1: DescField, v2: DescField, compilation: Compilation): ValueConverter {
  const convert = elementConverter(v1, v2, compilation);
  if (v1.fieldKind === "list") return (list) => (list as unknown[]).map(convert);
  if (v1.fieldKind === "map")
    return (map) => Object.fromEntries(Object.entries(map as Fields).map(([key, value]) => [key, convert(value)]));
  return convert;
}

function elementConverter(v1: DescField, v2: DescField, compilation: Compilation): ValueConverter {
  if (v1.enum !== undefined && v2.enum !== undefined) return enumConverter(v1.enum, v2.enum);
  if (v1.message === undefined || v2.message === undefined) return (value) => value;
  if (v1.message.typeName === v2.message.typeName) {
    const { message } = v2;
    return (value) => clone(message, value as Message);
  }
  return messageConverter(v1.message, v2.message, compilation) as ValueConverter;
}

/** To the value of the same name or, because version 1 has no prefixes in some enums, of the same number. */
function enumConverter(v1: DescEnum, v2: DescEnum): ValueConverter {
  const numbers = new Map(v1.values.map(({ name, number }) => [number, v2.values.find((value) => value.name === name)?.number ?? number]));
  return (number) => numbers.get(number as number) ?? number;
}

/**
 * Compiles the mask of an update with a whole version 1 resource: all fields of version 2 that version 1 has and that callers may set.
 * Fields that version 1 does not have keep their values.
 */
export function compileMask(v1: DescMessage, v2: DescMessage, differences: Differences): (given: Message) => string[] {
  const { keptIfUnset = [] } = differences[v1.typeName] ?? {};
  const pairs = pairFields(v2, v1, differences).filter((pair) => !isOutputOnly(pair.v2));
  return (given) =>
    pairs.filter(({ v1: field }) => !keptIfUnset.includes(field.name) || isFieldSet(given, field)).map((pair) => pair.v2.name);
}
