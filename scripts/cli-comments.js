// Reads the comments of the contract: a descriptor set with source information, as buf builds it.
import { readFileSync } from "node:fs";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** Numbers of fields in descriptor.proto. */
const MESSAGE = 4;
const SERVICE = 6;
const FIELD = 2;
const NESTED = 3;
const METHOD = 2;

/** @returns the comment by full name of the field or method */
export function readComments(path) {
  const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  return new Map(file.flatMap(commentsOfFile));
}

function commentsOfFile(file) {
  const comments = new Map((file.sourceCodeInfo?.location ?? []).map(({ path, leadingComments }) => [path.join(), leadingComments]));
  const found = [];
  const add = (name, path) => {
    const text = comments.get(path.join());
    if (text) found.push([name, text.trim().replace(/\s*\n\s*/g, " ")]);
  };
  const addMessage = (message, scope, path) => {
    const name = `${scope}.${message.name}`;
    for (const [index, field] of message.field.entries()) add(`${name}.${field.name}`, [...path, FIELD, index]);
    for (const [index, nested] of message.nestedType.entries()) addMessage(nested, name, [...path, NESTED, index]);
  };
  for (const [index, message] of file.messageType.entries()) addMessage(message, file.package, [MESSAGE, index]);
  for (const [index, service] of file.service.entries())
    for (const [number, method] of service.method.entries())
      add(`${file.package}.${service.name}.${method.name}`, [SERVICE, index, METHOD, number]);
  return found;
}
