/** Copies descriptor files to another package name, so that the names of an alias resolve. */
import { clone } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

/** All files of a package are renamed together; their imports from other packages keep their names. */
export interface Renaming {
  readonly from: string;
  readonly to: string;
  /** The names of all files of the package. */
  readonly files: ReadonlySet<string>;
}

export function renamePackage(file: FileDescriptorProto, renaming: Renaming): FileDescriptorProto {
  const copy = clone(FileDescriptorProtoSchema, file);
  copy.name = renameFile(file.name, renaming);
  copy.package = renaming.to;
  copy.dependency = file.dependency.map((name) => renameFile(name, renaming));
  for (const message of copy.messageType) renameInMessage(message, renaming);
  for (const extension of copy.extension) renameInField(extension, renaming);
  for (const method of copy.service.flatMap((service) => service.method)) {
    method.inputType = renameType(method.inputType, renaming);
    method.outputType = renameType(method.outputType, renaming);
  }
  return copy;
}

/** `platform/iam/v2/groups.proto` in a package that becomes `platform.iam.v2beta1` is `platform/iam/v2beta1/groups.proto`. */
function renameFile(name: string, { to, files }: Renaming): string {
  return files.has(name) ? `${to.replaceAll(".", "/")}/${name.slice(name.lastIndexOf("/") + 1)}` : name;
}

function renameInMessage(message: DescriptorProto, renaming: Renaming): void {
  for (const field of [...message.field, ...message.extension]) renameInField(field, renaming);
  for (const nested of message.nestedType) renameInMessage(nested, renaming);
}

function renameInField(field: FieldDescriptorProto, renaming: Renaming): void {
  // Set only if it was set: in proto2, a field that is set to the empty string differs from an unset field.
  if (field.typeName !== "") field.typeName = renameType(field.typeName, renaming);
  if (field.extendee !== "") field.extendee = renameType(field.extendee, renaming);
}

/** Types in descriptors are absolute: `.platform.iam.v2.Group`. */
function renameType(type: string, { from, to }: Renaming): string {
  return type.startsWith(`.${from}.`) ? `.${to}${type.slice(from.length + 1)}` : type;
}
