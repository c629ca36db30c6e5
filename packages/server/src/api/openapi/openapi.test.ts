import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { services } from "@holt/api";
import { Validator } from "@seriousme/openapi-schema-validator";
import { contractOperations } from "../../../test/harness/contract-operations.ts";
import { openApiDocument } from "./openapi.ts";
import { examples } from "./openapi-examples.ts";

const document = openApiDocument({ operations: contractOperations, baseUrl: "https://holt.test" });
const paths = document.paths as Record<string, Record<string, JsonObject>>;
const operations = Object.values(paths).flatMap((item) => Object.values(item));

test("the document is valid OpenAPI 3.1, and all its references resolve", async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(validator.version, "3.1");
  for (const [, name = ""] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
    assert.ok(Object.hasOwn((document.components as JsonObject).schemas as JsonObject, name), name);
  }
});

test("the document has every route of the contract, each with its own id", () => {
  const routes = contractOperations.reduce((count, operation) => count + operation.bindings.length, 0);
  assert.equal(operations.length, routes);
  assert.equal(new Set(operations.map((operation) => operation.operationId)).size, routes);
  assert.equal(new Set(operations.flatMap((operation) => operation.tags as string[])).size, services.length);
});

test("each service has a readable name, and services are in the order in which people need them", () => {
  const names = (document.tags as JsonObject[]).map(({ name }) => String(name));
  assert.deepEqual(new Set(operations.flatMap((operation) => operation.tags as string[])), new Set(names));
  for (const name of names) assert.match(name, /^[A-Z][a-z ]+: [A-Z][\w ]+( \(version 1\))?$/);
  const places = ["Access: Groups", "Images: Repos", "Libraries: Artifacts", "Advisories: Advisories", "Events: Subscriptions"].map(
    (name) => names.indexOf(name),
  );
  assert.deepEqual(
    places,
    places.toSorted((one, other) => one - other),
  );
  assert.ok(!places.includes(-1));
  assert.ok(names.indexOf("Access: Groups") < names.indexOf("Access: Groups (version 1)"));
});

test("each example is a body that its operation reads", () => {
  for (const [name, example] of examples) {
    const operation = contractOperations.find(({ method }) => `${method.parent.typeName}.${method.name}` === name);
    assert.ok(operation, name);
    const field = operation.method.input.fields.find((each) => each.name === operation.bindings[0]?.body);
    fromJson(field?.message ?? operation.method.input, example);
  }
  assert.match(JSON.stringify(document), /"example":\{"name":"web-shop"/);
});

test("no two paths differ only in the names of their parameters", () => {
  const shapes = Object.keys(paths).map((path) => path.replace(/\{[^}]*\}/g, "{}"));
  assert.deepEqual(shapes, [...new Set(shapes)]);
});

test("the document describes exactly the parameters of each path", () => {
  for (const [path, item] of Object.entries(paths)) {
    const expected = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name);
    for (const { parameters } of Object.values(item)) {
      const found = (parameters as JsonObject[]).filter((parameter) => parameter.in === "path").map((parameter) => parameter.name);
      assert.deepEqual(found, expected);
    }
  }
});

test("the filters of a list are parameters, in camelCase and with dots", () => {
  const parameters = paths["/iam/v2/groups"]?.get?.parameters as JsonObject[];
  const names = parameters.map((parameter) => parameter.name);
  for (const name of ["uidp.descendantsOf", "uidp.ids", "pageSize", "pageToken", "orderBy", "skip"]) assert.ok(names.includes(name), name);
});

test("a list of messages with a text form is a parameter", () => {
  const parameters = paths["/advisory/v2/images/resolvedVulns"]?.get?.parameters as JsonObject[];
  const images = parameters.find(({ name }) => name === "imageRefs") as { schema: { items: JsonObject } };
  assert.partialDeepStrictEqual(images, { in: "query", required: true, schema: { type: "array", items: { type: "string" } } });
  assert.match(String(images.schema.items.description), /repo:tag/);
});

test("required fields are listed for Create, and not for Update", () => {
  const bodyOf = (path: string, method: string) => JSON.stringify(paths[path]?.[method]?.requestBody);
  const tag = '{"allOf":[{"$ref":"#/components/schemas/registry.v2.Tag"},{"required":["name","digest"]}]}';
  assert.equal(bodyOf("/registry/v2/tags/{uid}", "post"), `{"content":{"application/json":{"schema":${tag}}}}`);
  assert.doesNotMatch(bodyOf("/registry/v2/repos/{uid}", "patch"), /required/);
});

test("a body does not repeat fields of the path", () => {
  const { requestBody } = paths["/holt/v1/subscriptions/{uid}/deliveries:redeliver"]?.post ?? {};
  assert.match(JSON.stringify(requestBody), /"properties":\{"eventId":.*,"failedSince":/);
  assert.doesNotMatch(JSON.stringify(requestBody), /"uid"/);
});

test("public operations need no token, and it is optional for operations that authenticate themselves", () => {
  assert.deepEqual(paths["/ping/v2/ping"]?.get?.security, []);
  assert.deepEqual(paths["/sts/exchange"]?.post?.security, [{}, { bearer: [] }]);
  assert.equal(paths["/iam/v2/groups"]?.get?.security, undefined);
});

test("unimplemented operations are marked", () => {
  assert.ok(operations.every((operation) => operation["x-unimplemented"] === true && /not implemented/.test(String(operation.summary))));
});
