/** Describes messages as JSON Schema (draft 2020-12, as in OpenAPI 3.1). */
import { type DescEnum, type DescField, type DescMessage, getOption, hasOption, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { fieldBehavior } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";

/** Returns references to schemas and collects those schemas, one for each message. */
export interface Schemas {
  readonly components: JsonObject;
  ofMessage(message: DescMessage): JsonObject;
  ofField(field: DescField): JsonObject;
}

const WELL_KNOWN: ReadonlyMap<string, JsonObject> = new Map(
  Object.entries({
    Timestamp: { type: "string", format: "date-time" },
    Duration: { type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$", examples: ["604800s"] },
    FieldMask: { type: "string", description: "Field paths separated by commas; `*` for all." },
    Struct: { type: "object" },
    Value: {},
    ListValue: { type: "array" },
    Empty: { type: "object" },
    Any: { type: "object", properties: { "@type": { type: "string" } }, required: ["@type"] },
  }).map(([name, schema]) => [`google.protobuf.${name}`, schema]),
);

export function createSchemas(): Schemas {
  const components: JsonObject = {};

  function ofMessage(message: DescMessage): JsonObject {
    const wellKnown = WELL_KNOWN.get(message.typeName);
    if (wellKnown !== undefined) return wellKnown;
    if (isWrapperDesc(message)) return ofScalar(message.fields[0].scalar);
    return component(message.typeName, (schema) => {
      schema.type = "object";
      schema.properties = Object.fromEntries(message.fields.map((field) => [field.jsonName, ofField(field)]));
      const choices = message.oneofs.map((oneof) => `At most one of ${oneof.fields.map((field) => `\`${field.jsonName}\``).join(", ")}.`);
      if (choices.length > 0) schema.description = choices.join(" ");
    });
  }

  function ofEnum(desc: DescEnum): JsonObject {
    return component(desc.typeName, (schema) => {
      schema.type = "string";
      schema.enum = desc.values.map((value) => value.name);
    });
  }

  /** Filled after it is stored: a message may contain itself. */
  function component(typeName: string, fill: (schema: JsonObject) => void): JsonObject {
    const name = typeName.replace(/^platform\./, "");
    if (components[name] === undefined) {
      const schema: JsonObject = {};
      components[name] = schema;
      fill(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  function ofField(field: DescField): JsonObject {
    const element = ofElement(field);
    const schema =
      field.fieldKind === "list"
        ? { type: "array", items: element }
        : field.fieldKind === "map"
          ? { type: "object", additionalProperties: element }
          : element;
    return { ...schema, ...access(field) };
  }

  function ofElement(field: DescField): JsonObject {
    if (field.message !== undefined) return ofMessage(field.message);
    return field.enum !== undefined ? ofEnum(field.enum) : ofScalar(field.scalar);
  }

  return { components, ofMessage, ofField };
}

export function behaves(field: DescField, behavior: FieldBehavior): boolean {
  return hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(behavior);
}

function access(field: DescField): JsonObject {
  if (behaves(field, FieldBehavior.OUTPUT_ONLY)) return { readOnly: true };
  return behaves(field, FieldBehavior.INPUT_ONLY) ? { writeOnly: true } : {};
}

function ofScalar(scalar: ScalarType | undefined): JsonObject {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: "number" };
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return { type: "string", format: "int64", pattern: "^-?[0-9]+$" };
    default:
      return { type: "integer", format: "int32" };
  }
}
