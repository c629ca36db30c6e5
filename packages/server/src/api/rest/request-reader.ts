/** Reads the request message of a route from path, query and body, as google.api.http maps them. Readers are compiled at boot. */
import type { DescField, DescMessage, JsonObject, JsonValue, Message } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { invalidArgument } from "../../lib/errors.ts";
import { fieldsBySpelling } from "../../lib/field-spellings.ts";
import { JsonFieldError } from "../../lib/json-field-error.ts";
import { compileFieldDecoder, compileJsonDecoder } from "../../lib/proto-json-decode.ts";
import { findUnknownFields } from "../../lib/unknown-fields.ts";
import { assertFewMarks } from "../element-limit.ts";
import { parseJsonBody } from "../json-body.ts";
import { MAX_IGNORED, shownName } from "./ignored-input.ts";
import { inferMask } from "./inferred-mask.ts";
import { queryFromJson } from "./json-query.ts";
import { compileTextDecoder, resolveFieldPath, setField } from "./message-fields.ts";
import { compileQueryReader, type UnknownParameters } from "./query-parameters.ts";
import type { Route } from "./route-table.ts";

export interface RequestParts {
  /** Values of the route's path variables. */
  readonly variables: readonly string[];
  /** Without the question mark. */
  readonly query: string;
  /** Undefined if the route reads no body. */
  readonly body: Buffer | undefined;
  readonly contentType: string | undefined;
}

export interface ReadRequest {
  readonly message: Message;
  /** Phrases about parts of the request that are not in the contract. */
  readonly ignored: readonly string[];
}

export interface RequestReader {
  /** `form`: a POST without a mapped body reads application/x-www-form-urlencoded, as token endpoints do (RFC 6749 §4.1.3). */
  readonly takes: "nothing" | "json" | "form";
  /** @throws HoltError INVALID_ARGUMENT that names the field, if one is known */
  read(parts: RequestParts): ReadRequest;
}

type BodyReader = (json: JsonValue, message: Message) => void;

/** @throws Error that names the operation if the route names fields that its request does not have */
export function compileRequestReader(route: Route, unknownParameters: UnknownParameters): RequestReader {
  const schema = route.operation.method.input;
  const { body, method } = route.binding;
  const setVariables = compileVariables(route);
  const bound = new Set(route.template.variables.map((variable) => variable.field.join(".")));
  const readQuery = compileQueryReader(schema, {
    isBound: (name) => body === "*" || bound.has(name) || name === body || name.startsWith(`${body}.`),
    // OAuth endpoints must ignore unknown parameters (RFC 6749 §3.2).
    unknown: route.operation.access.mode === "self" ? "ignore" : unknownParameters,
  });
  const takes = body !== "" ? "json" : method === "POST" ? "form" : "nothing";
  const decode = compileJsonDecoder(schema);
  // Faster than `create`.
  const newRequest = body === "*" ? decode : () => decode({});
  const readBody = body === "" || body === "*" ? undefined : compileBodyField(fieldOf(route, [body]));
  const bodySchema = body === "*" ? schema : schema.fields.find((field) => field.name === body)?.message;
  const infer = method === "PATCH" ? compileMaskInference(schema, body) : undefined;
  return {
    takes,
    read: (parts) => {
      const json = takes === "json" && parts.body !== undefined ? parseJsonBody(parts.body) : {};
      const request = atField("", () => newRequest(json));
      readBody?.(json, request);
      // Joined, since a parameter may be in both.
      const query = takes === "form" ? [parts.query, formOf(parts, route)].filter((text) => text !== "").join("&") : parts.query;
      const ignored = readQuery(request, query);
      setVariables(request, parts.variables);
      infer?.(json, request);
      return { message: request, ignored: takes === "json" ? [...ignored, ...unknownFieldsOf(bodySchema, json)] : ignored };
    },
  };
}

function unknownFieldsOf(schema: DescMessage | undefined, json: JsonValue): readonly string[] {
  if (schema === undefined) return [];
  return findUnknownFields(schema, json, MAX_IGNORED).map((path) => `ignored unknown field ${shownName(path)}`);
}

/**
 * A form as a query. A token endpoint also takes JSON, and refuses other bodies, since its caller would get a token for
 * something else. All other operations ignore a body that is not a form.
 */
function formOf({ body, contentType = "" }: RequestParts, { operation: { access } }: Route): string {
  if (body === undefined || body.length === 0) return "";
  if (FORM.test(contentType)) {
    assertFewMarks(body);
    return body.toString("utf8");
  }
  if (access.mode !== "self") return "";
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType))
    throw invalidArgument("", `the body must be application/x-www-form-urlencoded or application/json, not ${shownType(contentType)}`);
  return queryFromJson(parseJsonBody(body));
}

/** Types of content have no case (RFC 9110 §8.3.1). */
const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

function shownType(contentType: string): string {
  return contentType === "" ? "a body without Content-Type" : contentType.slice(0, 100);
}

function compileVariables(route: Route): (request: Message, values: readonly string[]) => void {
  const setters = route.template.variables.map((variable) => {
    const path = fieldOf(route, variable.field);
    const decode = compileTextDecoder(path.at(-1) as DescField);
    if (decode === undefined) throw new Error(`${route.operation.name}: ${variable.field.join(".")} cannot be part of a path`);
    const name = variable.field.join(".");
    return (request: Message, text: string) =>
      setField(
        request,
        path,
        atField(name, () => decode(text)),
      );
  });
  return (request, values) => {
    for (const [index, set] of setters.entries()) set(request, values[index] ?? "");
  };
}

function compileBodyField(path: readonly DescField[]): BodyReader {
  const field = path[0] as DescField;
  const decode = compileFieldDecoder(field);
  const isObject = field.fieldKind === "message" || field.fieldKind === "map";
  return (json, message) => {
    // A missing body decodes as an empty object; a field of another type then stays unset.
    if (!isObject && isEmptyObject(json)) return;
    // For clients the body is the resource itself, so paths in errors start there.
    setField(
      message,
      path,
      atField("", () => decode(json)),
    );
  };
}

function isEmptyObject(json: JsonValue): boolean {
  return typeof json === "object" && json !== null && !Array.isArray(json) && Object.keys(json).length === 0;
}

/** Fills in the missing mask of an update. Undefined if the request has no mask field, or not exactly one resource. */
function compileMaskInference(schema: DescMessage, body: string): BodyReader | undefined {
  const mask = schema.fields.find((field) => field.name === "update_mask" && field.message?.typeName === FieldMaskSchema.typeName);
  const candidates = schema.fields.filter(
    (field) => field.fieldKind === "message" && field !== mask && (body === "*" || field.name === body),
  );
  const [resource] = candidates;
  if (mask === undefined || resource?.fieldKind !== "message" || candidates.length > 1) return undefined;
  return (json, message) => {
    const given = (message as unknown as Record<string, { paths: string[] } | undefined>)[mask.localName];
    if (given !== undefined && given.paths.length > 0) return;
    const sent = body === "*" ? valueOfField(schema, resource, json as JsonObject) : json;
    setField(message, [mask], inferMask(resource.message, sent as JsonObject));
  };
}

function valueOfField(schema: DescMessage, field: DescField, json: JsonObject): JsonValue {
  const spellings = fieldsBySpelling(schema);
  const key = Object.keys(json).findLast((spelling) => spellings.get(spelling) === field);
  return (key === undefined ? undefined : json[key]) ?? {};
}

function fieldOf(route: Route, path: readonly string[]): DescField[] {
  const fields = resolveFieldPath(route.operation.method.input, path);
  if (fields === undefined)
    throw new Error(`${route.operation.name}: ${route.operation.method.input.typeName} has no field ${path.join(".")}`);
  return fields;
}

function atField<T>(name: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof JsonFieldError)) throw error;
    throw invalidArgument(error.path === "" ? name : error.path, error.description);
  }
}
