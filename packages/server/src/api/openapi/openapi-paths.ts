/** Describes operations as the paths of an OpenAPI document. */
import { type DescField, type DescMessage, getOption, hasOption, type JsonObject } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { capabilityName, mcp } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { capabilitiesIn } from "../../access/capability-set.ts";
import type { Operation } from "../call/operation.ts";
import { compileTextDecoder } from "../rest/message-fields.ts";
import { type Route, routesOf } from "../rest/route-table.ts";
import { textSpellings } from "../rest/text-spellings.ts";
import { examples } from "./openapi-examples.ts";
import { behaves, type Schemas } from "./openapi-schemas.ts";
import { tagOf } from "./openapi-tags.ts";

export function openApiPaths(operations: readonly Operation[], schemas: Schemas): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const routes of groupByShape(routesOf(operations))) {
    // OpenAPI treats /groups/{uid} and /groups/{parent} as one path, so its parameters have one name: that of the GET
    // route, if there is one.
    const names = nameVariables(routes.find((route) => route.binding.method === "GET") ?? (routes[0] as Route));
    const item = Object.fromEntries(routes.map((route) => [route.binding.method.toLowerCase(), operationObject(route, names, schemas)]));
    paths[pathOf(routes[0] as Route, names)] = item;
  }
  return paths;
}

/** Groups routes that differ only in their method and the names of their variables. */
function groupByShape(routes: readonly Route[]): Route[][] {
  return [...Map.groupBy(routes, (route) => pathOf(route, () => "")).values()];
}

type VariableNames = (index: number) => string;

function nameVariables(route: Route): VariableNames {
  return (index) => route.template.variables[index]?.field.at(-1) ?? `value${index}`;
}

function pathOf({ template }: Route, names: VariableNames): string {
  const segments = template.segments.map((segment, index) => {
    const variable = template.variables.findIndex(({ start, end }) => start <= index && index < end);
    return variable >= 0 ? `{${names(variable)}}` : segment.kind === "literal" ? segment.text : segment.kind;
  });
  return `/${segments.join("/")}${template.verb === undefined ? "" : `:${template.verb}`}`;
}

function operationObject(route: Route, names: VariableNames, schemas: Schemas): JsonObject {
  const { operation, binding } = route;
  const { method, bindings } = operation;
  const service = method.parent.typeName.replace(/^platform\./, "");
  // The first route of an operation has its plain name; the ids of further routes add their method.
  const suffix = bindings[0] === binding ? "" : `.${binding.method.toLowerCase()}`;
  return {
    operationId: `${service}.${method.name}${suffix}`,
    tags: [tagOf(operation)],
    summary: summaryOf(operation),
    description: descriptionOf(operation),
    ...(operation.handler === undefined ? { "x-unimplemented": true } : {}),
    ...securityOf(operation),
    parameters: [...pathParameters(route, names), ...queryParameters(route, schemas)],
    ...requestBody(route, schemas),
    responses: { 200: success(operation, schemas), default: { $ref: "#/components/responses/Error" } },
  };
}

function summaryOf({ method, handler }: Operation): string {
  const words = method.name.replace(/(?<=[a-z])(?=[A-Z])/g, " ");
  const text = hasOption(method, mcp) && getOption(method, mcp).description !== "" ? getOption(method, mcp).description : words;
  return handler === undefined ? `${text} (not implemented)` : text;
}

function descriptionOf({ access, handler }: Operation): string {
  const sentences: string[] = [];
  if (handler === undefined) sentences.push("This server does not implement the operation: it answers UNIMPLEMENTED.");
  const capabilities =
    access.mode === "scoped" || access.mode === "unscoped"
      ? capabilitiesIn(access.capabilities).map((capability) => `\`${capabilityName(capability)}\``)
      : [];
  if (capabilities.length > 0)
    sentences.push(
      `Needs ${capabilities.join(", ")}${access.mode === "unscoped" ? "; answers only resources where the caller holds that" : ""}.`,
    );
  return sentences.join(" ");
}

/** The document asks for a token by default; this is for operations that do not. */
function securityOf({ access }: Operation): JsonObject {
  if (access.mode === "public") return { security: [] };
  return access.mode === "self" ? { security: [{}, { bearer: [] }] } : {};
}

function pathParameters({ template }: Route, names: VariableNames): JsonObject[] {
  return template.variables.map(({ field, start }, index) => {
    const meaning = field.join(".");
    const isDeep = template.segments[start]?.kind === "many";
    const description = `\`${meaning}\` of the request.${isDeep ? " May contain slashes, percent-encoded or not." : ""}`;
    return { name: names(index), in: "path", required: true, description, schema: { type: "string" } };
  });
}

function queryParameters({ operation, binding, template }: Route, schemas: Schemas): JsonObject[] {
  if (binding.body === "*") return [];
  const bound = new Set([binding.body, ...template.variables.map((variable) => variable.field.join("."))]);
  return parametersOf(operation.method.input, [], bound, schemas);
}

function parametersOf(message: DescMessage, parents: readonly DescField[], bound: ReadonlySet<string>, schemas: Schemas): JsonObject[] {
  return message.fields.flatMap((field) => {
    const path = [...parents, field];
    if (bound.has(path.map((step) => step.name).join("."))) return [];
    if (compileTextDecoder(field) !== undefined) return [parameterOf(path, field, schemas)];
    // Messages become one parameter for each field; a message that contains itself is expanded once.
    if (field.fieldKind !== "message" || parents.some((parent) => parent.message === field.message)) return [];
    return parametersOf(field.message, path, bound, schemas);
  });
}

function parameterOf(path: readonly DescField[], field: DescField, schemas: Schemas): JsonObject {
  const required = path.every((step) => behaves(step, FieldBehavior.REQUIRED));
  return { name: path.map((step) => step.jsonName).join("."), in: "query", required, schema: schemaOf(field, schemas) };
}

function schemaOf(field: DescField, schemas: Schemas): JsonObject {
  const text = textSpellings.get(field.message?.typeName ?? "")?.schema;
  if (text === undefined) return schemas.ofField(field);
  return field.fieldKind === "list" ? { type: "array", items: text } : text;
}

function requestBody(route: Route, schemas: Schemas): JsonObject {
  const { operation, binding } = route;
  const { input } = operation.method;
  if (binding.body === "" && binding.method !== "POST") return {};
  if (binding.body === "") return { requestBody: content("application/x-www-form-urlencoded", schemas.ofMessage(input)) };
  const field = input.fields.find(({ name }) => name === binding.body);
  const schema = field === undefined ? unbound(input, route, schemas) : schemas.ofField(field);
  const message = field === undefined ? input : field.fieldKind === "message" ? field.message : undefined;
  const example = examples.get(`${operation.method.parent.typeName}.${operation.method.name}`);
  return { requestBody: content("application/json", binding.method === "PATCH" ? schema : withRequired(schema, message, route), example) };
}

/** The message without the fields of the path. */
function unbound(message: DescMessage, { template }: Route, schemas: Schemas): JsonObject {
  const inPath = new Set(template.variables.map((variable) => variable.field.join(".")));
  const fields = message.fields.filter(({ name }) => !inPath.has(name));
  if (fields.length === message.fields.length) return schemas.ofMessage(message);
  return { type: "object", properties: Object.fromEntries(fields.map((field) => [field.jsonName, schemas.ofField(field)])) };
}

/** Only Create needs the required fields, so they are not in the schema of the resource, which Update uses too. */
function withRequired(schema: JsonObject, message: DescMessage | undefined, { template, binding }: Route): JsonObject {
  const inPath = new Set(template.variables.map((variable) => variable.field.join(".")));
  const prefix = binding.body === "*" ? "" : `${binding.body}.`;
  const fields = message?.fields.filter((field) => behaves(field, FieldBehavior.REQUIRED) && !inPath.has(prefix + field.name)) ?? [];
  return fields.length === 0 ? schema : { allOf: [schema, { required: fields.map((field) => field.jsonName) }] };
}

function content(type: string, schema: JsonObject, example?: JsonObject): JsonObject {
  return { content: { [type]: { schema, ...(example !== undefined && { example }) } } };
}

function success({ method }: Operation, schemas: Schemas): JsonObject {
  if (method.output.typeName === EmptySchema.typeName) return { description: "Done. The answer is empty." };
  return { description: "Done.", ...content("application/json", schemas.ofMessage(method.output)) };
}
