/** Builds `test.EveryKind`, a message with singular, repeated, optional, oneof and map fields of every type, also of itself. */
import { create, createFileRegistry, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type DescriptorProtoSchema,
  type FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

type Field = MessageInitShape<typeof FieldDescriptorProtoSchema>;
type FieldType = Pick<Field, "type" | "typeName">;

const imports = [
  file_google_protobuf_timestamp,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_wrappers,
];

const scalars: FieldType[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18].map((type) => ({ type: type as Type }));
const colour: FieldType = { type: Type.ENUM, typeName: ".test.Colour" };
const itself: FieldType = { type: Type.MESSAGE, typeName: ".test.EveryKind" };
const wellKnown: FieldType[] = ["Timestamp", "Duration", "FieldMask", "Struct", "Value", "StringValue", "Int64Value", "BoolValue"].map(
  (name) => ({
    type: Type.MESSAGE,
    typeName: `.google.protobuf.${name}`,
  }),
);

const colours = { name: "Colour", value: [{ name: "COLOUR_UNSPECIFIED" }, { name: "COLOUR_RED", number: 1 }] };

export function everyKind(): DescMessage {
  const file = create(FileDescriptorProtoSchema, {
    name: "test.proto",
    package: "test",
    syntax: "proto3",
    dependency: imports.map((imported) => imported.proto.name),
    messageType: [describeMessage()],
    enumType: [colours],
  });
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...imports.map((imported) => imported.proto), file] }));
  const schema = registry.getMessage("test.EveryKind");
  if (schema === undefined) throw new Error("test.EveryKind is missing");
  return schema;
}

function describeMessage(): MessageInitShape<typeof DescriptorProtoSchema> {
  const types = [...scalars, colour, itself, ...wellKnown];
  const optional = [...scalars, colour];
  const maps = [9, 3, 8, 13].map((key, index) => ({
    name: `Map${index}Entry`,
    options: { mapEntry: true },
    field: mapEntry(key as Type, index % 2 === 0 ? itself : colour),
  }));
  const fields: Field[] = [
    ...types.map((type) => ({ name: "one", label: Label.OPTIONAL, ...type })),
    ...types.map((type) => ({ name: "many", label: Label.REPEATED, ...type })),
    ...types.map((type) => ({ name: "choice", label: Label.OPTIONAL, ...type, oneofIndex: 0 })),
    // Like protoc, puts each optional field alone into a oneof after all others.
    ...optional.map((type, index) => ({ name: "maybe", label: Label.OPTIONAL, ...type, proto3Optional: true, oneofIndex: index + 1 })),
    ...maps.map(({ name }) => ({ name: "map", label: Label.REPEATED, type: Type.MESSAGE, typeName: `.test.EveryKind.${name}` })),
    { name: "spelled", label: Label.OPTIONAL, type: Type.STRING, jsonName: "spelled_so" },
  ];
  return {
    name: "EveryKind",
    field: fields.map((field, index) => ({
      jsonName: `${field.name}${index + 1}`,
      ...field,
      name: `${field.name}_${index + 1}`,
      number: index + 1,
    })),
    oneofDecl: [{ name: "choice" }, ...optional.map((_, index) => ({ name: `_maybe_${index}` }))],
    nestedType: maps,
  };
}

function mapEntry(key: Type, value: FieldType): Field[] {
  return [
    { name: "key", number: 1, type: key, label: Label.OPTIONAL },
    { name: "value", number: 2, ...value, label: Label.OPTIONAL },
  ];
}
