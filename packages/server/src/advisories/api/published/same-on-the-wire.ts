/**
 * Converts messages between the two versions of this domain, which differ only in names. Boot checks that field numbers and types are the
 * same.
 */
import { type DescField, type DescMessage, fromBinary, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";

/** Compiles the conversion to the message of the other version. @throws Error if the two differ on the wire */
export function compileRecast<From extends DescMessage, To extends DescMessage>(
  from: From,
  to: To,
): (message: MessageShape<From>) => MessageShape<To> {
  assertSame(from, to, new Set());
  return (message) => fromBinary(to, toBinary(from, message as Message as MessageShape<From>));
}

function assertSame(from: DescMessage, to: DescMessage, seen: Set<string>): void {
  if (from === to || seen.has(from.typeName)) return;
  seen.add(from.typeName);
  if (from.fields.length !== to.fields.length) throw new Error(`${from.typeName} and ${to.typeName} do not have the same fields`);
  for (const field of from.fields) {
    const other = to.fields.find(({ number }) => number === field.number);
    if (other === undefined || kindOf(field) !== kindOf(other)) throw new Error(`${to.typeName} has no field like ${field.toString()}`);
    if (field.message !== undefined && other.message !== undefined) assertSame(field.message, other.message, seen);
  }
}

function kindOf(field: DescField): string {
  const isList = field.fieldKind === "list";
  return [isList, field.message !== undefined, field.enum !== undefined, field.scalar, field.oneof === undefined].join();
}
