/** Clients for REST and gRPC that call any operation by its descriptor and return answers in the same form. */
import { Agent, request as httpRequest } from "node:http";
import {
  create,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  getOption,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { http } from "@holt/api";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  ResourceInfoSchema,
} from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { TermsNotAcceptedDetailSchema } from "@holt/api/gen/platform/iam/v2/terms_pb.ts";

export interface Failure {
  /** A google.rpc.Code. */
  readonly code: number;
  readonly message: string;
  /** Error details as in REST, each with its `@type`. */
  readonly details: readonly JsonObject[];
}

export type Outcome<M extends DescMethodUnary> =
  | { readonly ok: true; readonly value: MessageShape<M["output"]> }
  | { readonly ok: false; readonly error: Failure };

/** @returns the answer @throws if the call was refused */
export function answerOf<M extends DescMethodUnary>(outcome: Outcome<M>): MessageShape<M["output"]> {
  if (outcome.ok) return outcome.value;
  throw new Error(`the call was refused with code ${outcome.error.code}: ${outcome.error.message}`);
}

/** @returns the error @throws if the call was not refused */
export function errorOf<M extends DescMethodUnary>(outcome: Outcome<M>): Failure {
  if (!outcome.ok) return outcome.error;
  throw new Error("the call was not refused");
}

/** @returns the error code, or 0 for a success */
export function codeOf<M extends DescMethodUnary>(outcome: Outcome<M>): number {
  return outcome.ok ? 0 : outcome.error.code;
}

export interface Client extends AsyncDisposable {
  readonly protocol: "rest" | "grpc";
  /** An undefined `token` sends none. Never rejects if the server answers. */
  call<M extends DescMethodUnary>(method: M, request: MessageInitShape<M["input"]>, token: string | undefined): Promise<Outcome<M>>;
}

const DETAILS = [BadRequestSchema, ErrorInfoSchema, PreconditionFailureSchema, ResourceInfoSchema, TermsNotAcceptedDetailSchema];

export function createGrpcClient(baseUrl: string): Client {
  const transport = createGrpcTransport({ baseUrl });
  return {
    protocol: "grpc",
    async call(method, request, token) {
      const client = createClient(method.parent, transport) as unknown as Record<
        string,
        (request: unknown, options: object) => Promise<never>
      >;
      try {
        const value = await client[method.localName]?.(
          request,
          token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
        );
        return { ok: true, value: value as never };
      } catch (thrown) {
        const error = ConnectError.from(thrown);
        const details = error.details.flatMap((detail) => {
          if (!("type" in detail)) return [];
          const schema = DETAILS.find((known) => known.typeName === detail.type);
          return schema === undefined
            ? []
            : [{ "@type": `type.googleapis.com/${detail.type}`, ...(toJson(schema, fromBinary(schema, detail.value)) as JsonObject) }];
        });
        return { ok: false, error: { code: error.code, message: error.rawMessage, details } };
      }
    },
    async [Symbol.asyncDispose]() {},
  };
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends one HTTP/1.1 request unchanged: the path is not normalized and redirects are not followed. */
export function send(
  agent: Agent,
  baseUrl: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<HttpAnswer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        agent,
        hostname,
        port,
        method,
        path,
        headers: body === undefined ? headers : { "content-length": String(Buffer.byteLength(body)), ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString("utf8") }),
        );
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

export function createRestClient(baseUrl: string): Client {
  const agent = new Agent({ keepAlive: true });
  return {
    protocol: "rest",
    async call(method, request, token) {
      const { verb, path, body } = httpRequestOf(method, request);
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const answer = await send(agent, baseUrl, verb, path, headers, body);
      if (answer.status === 200) {
        const json: JsonValue = answer.text === "" && method.output.typeName === EmptySchema.typeName ? {} : JSON.parse(answer.text);
        return { ok: true, value: fromJson(method.output, json) as never };
      }
      return { ok: false, error: JSON.parse(answer.text) };
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

/** Fills the first HTTP binding of the method: path variables, then the body, and remaining fields into the query. */
export function httpRequestOf<M extends DescMethodUnary>(
  method: M,
  request: MessageInitShape<M["input"]>,
): { verb: string; path: string; body?: string } {
  const rule = getOption(method, http);
  const message = create(method.input, request);
  const json = toJson(method.input, message) as JsonObject;
  const rest = toJson(method.input, message, { useProtoFieldName: true }) as JsonObject;
  const path = (rule.pattern.value as string).replace(/\{([^=}]+)(?:=[^}]*)?\}/g, (_, name: string) => {
    const value = take(rest, name.split("."));
    return typeof value === "string" ? value.split("/").map(encodeURIComponent).join("/") : "";
  });
  const verb = (rule.pattern.case ?? "").toUpperCase();
  if (rule.body === "*") return { verb, path, body: JSON.stringify(json) };
  const inBody = rule.body === "" ? undefined : take(rest, [rule.body]);
  const query = new URLSearchParams(parameters(rest, "")).toString();
  const target = query === "" ? path : `${path}?${query}`;
  return rule.body === "" ? { verb, path: target } : { verb, path: target, body: JSON.stringify(inBody ?? {}) };
}

function take(json: JsonObject, [head = "", ...tail]: string[]): JsonValue | undefined {
  const value = json[head];
  if (tail.length > 0) return typeof value === "object" && value !== null ? take(value as JsonObject, tail) : undefined;
  delete json[head];
  return value;
}

/** ImageRef is the only message of which queries contain lists. */
function imageRefText(ref: JsonValue): string {
  const { repo = "", tags = [] } = ref as { repo?: string; tags?: string[] };
  return tags.length === 0 ? repo : `${repo}:${tags.join(",")}`;
}

function parameters(json: JsonObject, prefix: string): [string, string][] {
  return Object.entries(json).flatMap(([key, value]): [string, string][] => {
    if (Array.isArray(value)) return value.map((element) => [prefix + key, key === "image_refs" ? imageRefText(element) : String(element)]);
    if (typeof value === "object" && value !== null) return parameters(value, `${prefix}${key}.`);
    return [[prefix + key, String(value)]];
  });
}
