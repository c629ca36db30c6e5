/**
 * Indexes the descriptor files of the served services for reflection. Works on descriptor protos, so that renamed copies are ordinary
 * files.
 */
import { type DescFile, toBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

export class DescriptorIndex {
  readonly #files = new Map<string, FileDescriptorProto>();
  readonly #symbols = new Map<string, FileDescriptorProto>();
  /** Extended type → field number → file. */
  readonly #extensions = new Map<string, Map<number, FileDescriptorProto>>();
  /** Serializing a file takes a millisecond, and anonymous callers may ask for it. */
  readonly #serialized = new Map<FileDescriptorProto, Uint8Array>();

  /** Adds a file unless it has been added before. */
  add(file: FileDescriptorProto): void {
    if (this.#files.has(file.name)) return;
    this.#files.set(file.name, file);
    for (const symbol of symbolsOf(file)) this.#symbols.set(symbol, file);
    for (const extension of extensionsOf(file)) {
      const type = extension.extendee.slice(1);
      const numbers = this.#extensions.get(type) ?? new Map<number, FileDescriptorProto>();
      this.#extensions.set(type, numbers.set(extension.number, file));
    }
  }

  byName(name: string): FileDescriptorProto | undefined {
    return this.#files.get(name);
  }

  bySymbol(symbol: string): FileDescriptorProto | undefined {
    return this.#symbols.get(symbol);
  }

  byExtension(type: string, number: number): FileDescriptorProto | undefined {
    return this.#extensions.get(type)?.get(number);
  }

  /** Undefined for a type that no file declares. */
  extensionNumbers(type: string): number[] | undefined {
    if (!this.#symbols.has(type)) return undefined;
    return [...(this.#extensions.get(type)?.keys() ?? [])];
  }

  /** The file and its imports, serialized. Leaves out imports in `sent`, and adds all returned files to it. */
  withImports(file: FileDescriptorProto, sent: Set<string>): Uint8Array[] {
    const needed = new Set([file]);
    // Iterating a set also visits the elements that are added on the way.
    for (const each of needed) {
      for (const name of each.dependency) {
        const imported = this.#files.get(name);
        if (imported !== undefined && !sent.has(name)) needed.add(imported);
      }
      sent.add(each.name);
    }
    return [...needed].map((each) => this.#serialize(each));
  }

  #serialize(file: FileDescriptorProto): Uint8Array {
    const bytes = this.#serialized.get(file) ?? toBinary(FileDescriptorProtoSchema, file);
    this.#serialized.set(file, bytes);
    return bytes;
  }
}

/** Files with all their direct and indirect imports. */
export function filesBelow(roots: Iterable<DescFile>): Set<DescFile> {
  const files = new Set(roots);
  for (const each of files) for (const imported of each.dependencies) files.add(imported);
  return files;
}

function* symbolsOf(file: FileDescriptorProto): Iterable<string> {
  const prefix = file.package === "" ? "" : `${file.package}.`;
  for (const message of file.messageType) yield* symbolsOfMessage(message, prefix);
  for (const each of file.enumType) yield* symbolsOfEnum(each, prefix);
  for (const extension of file.extension) yield prefix + extension.name;
  for (const service of file.service) {
    yield prefix + service.name;
    for (const method of service.method) yield `${prefix}${service.name}.${method.name}`;
  }
}

function* symbolsOfMessage(message: DescriptorProto, outer: string): Iterable<string> {
  yield outer + message.name;
  const prefix = `${outer}${message.name}.`;
  for (const member of [...message.field, ...message.oneofDecl, ...message.extension]) yield prefix + member.name;
  for (const nested of message.nestedType) yield* symbolsOfMessage(nested, prefix);
  for (const nested of message.enumType) yield* symbolsOfEnum(nested, prefix);
}

/** Values of an enum are its siblings, as in C++. */
function* symbolsOfEnum(each: FileDescriptorProto["enumType"][number], prefix: string): Iterable<string> {
  yield prefix + each.name;
  for (const value of each.value) yield prefix + value.name;
}

function* extensionsOf(file: FileDescriptorProto): Iterable<FieldDescriptorProto> {
  yield* file.extension;
  const messages = [...file.messageType];
  for (const message of messages) {
    yield* message.extension;
    messages.push(...message.nestedType);
  }
}
