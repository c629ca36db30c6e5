/** Serves the contract as an OpenAPI 3.1 document, generated from the operations at its first request. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { RequestHandler } from "../../http/http-exchange.ts";
import { createStaticAsset, type StaticAsset, sendAsset } from "../../http/static-asset.ts";
import type { Operation } from "../call/operation.ts";
import { openApiPaths } from "./openapi-paths.ts";
import { createSchemas } from "./openapi-schemas.ts";
import { orderedTags } from "./openapi-tags.ts";

export interface OpenApiOptions {
  readonly operations: readonly Operation[];
  /** Public URL of the server. */
  readonly baseUrl: string;
}

export function createOpenApiHandler(options: OpenApiOptions): RequestHandler {
  let asset: StaticAsset | undefined;
  return (request, response) => {
    asset ??= createStaticAsset("application/json", Buffer.from(JSON.stringify(openApiDocument(options))));
    sendAsset(request, response, asset);
  };
}

export function openApiDocument({ operations, baseUrl }: OpenApiOptions): JsonObject {
  const schemas = createSchemas();
  const paths = openApiPaths(operations, schemas);
  return {
    openapi: "3.1.0",
    info: { title: "Holt", version: "2.0", summary: "A self-hosted platform-management server.", description: descriptionFor(baseUrl) },
    servers: [{ url: baseUrl }],
    security: [{ bearer: [] }],
    tags: orderedTags(operations),
    paths,
    components: {
      schemas: { ...schemas.components, Error: ERROR },
      responses: {
        Error: { description: "The call failed.", content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } },
      },
      securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
    },
  };
}

/** Markdown. */
function descriptionFor(baseUrl: string): string {
  return `Every operation is also served as gRPC, gRPC-Web and Connect on the same port.

## Tokens

A call needs an access token in its header: \`Authorization: Bearer TOKEN\`. A token is valid for one hour.

- **People** get one with \`holt login\` and print it with \`holt token\`.
- **Machines** exchange a proof of their own, such as the OIDC token of a CI job:
  \`curl -d identity=UID -H "authorization: Bearer $PROOF" ${baseUrl}/sts/exchange\`
- **Operators** make one for the owner on the machine of the server: \`holtd token\`, or \`npm run -s token\` in a checkout

Press **Authorize** and paste the token, to call operations from this page. The page keeps it until it is closed. Each
operation names the capabilities that it needs; the token's identity gets them from roles.

## Requests

- \`v2beta1\` in a path stands for \`v2\`.
- Query parameters may be written in camelCase or snake_case.
- Answers contain every field that is not optional, even if it is empty.
- A uid is the path of a resource: that of its organization, and an id for each level below, with slashes between them.`;
}

/** google.rpc.Status, as REST answers it. */
const ERROR: JsonObject = {
  type: "object",
  required: ["code", "message", "details"],
  properties: {
    code: { type: "integer", description: "A google.rpc.Code: 3 is INVALID_ARGUMENT, 5 NOT_FOUND …" },
    message: { type: "string" },
    details: {
      type: "array",
      items: {
        type: "object",
        required: ["@type"],
        properties: { "@type": { type: "string", examples: ["type.googleapis.com/google.rpc.ErrorInfo"] } },
        additionalProperties: true,
      },
    },
  },
};
