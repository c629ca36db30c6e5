/** `/scim/v2/`: who provisions, what it is about, the answer or the error. What users and groups are is not known here. */
import type { Grants } from "../../auth/grants.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { answerList, answerOne } from "../../scim/answer.ts";
import { describeResourceTypes, serviceProviderConfig } from "../../scim/describe.ts";
import type { Directory } from "../../scim/directory.ts";
import { createGroup, deleteGroup, findGroup, patchGroup, replaceGroup } from "../../scim/groups.ts";
import { groups, type Kind, users } from "../../scim/kind.ts";
import { isObject } from "../../scim/patch-request.ts";
import { etagOf, type Row } from "../../scim/resource.ts";
import { createScanLimit, type ScanLimit } from "../../scim/scan-limit.ts";
import { describeSchemas, type Json } from "../../scim/schema.ts";
import { badRequest, ScimError } from "../../scim/scim-error.ts";
import { createUser, deleteUser, findUser, patchUser, replaceUser } from "../../scim/users.ts";
import { assertFewMarks } from "../element-limit.ts";
import { type HttpRequest, type HttpResponse, send } from "../http-exchange.ts";
import { readBody } from "../read-body.ts";
import type { Allowance, RequestMemory } from "../request-memory.ts";
import { authenticateDirectory } from "./authenticate.ts";
import { CONTENT_TYPE, sendScimError } from "./error.ts";
import { type ScimRoute, scimRouteOf } from "./routes.ts";
import { parametersOfBody, parametersOfQuery, projectionFrom, searchRequestFrom } from "./search-request.ts";

export interface ScimOptions {
  readonly store: Store;
  readonly grants: Grants;
  readonly clock: Clock;
  readonly log: Log;
  readonly memory: RequestMemory;
  /** Of this server, without a trailing slash. */
  readonly baseUrl: string;
  readonly maxConcurrentCalls: number;
}

const MAX_SCANS = 4;
/** How long a client may still send after it was refused. */
const LINGER_MS = 5_000;

/** A request whose sender is known. */
interface ScimExchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  readonly route: ScimRoute;
  readonly query: URLSearchParams;
  readonly directory: Directory;
  readonly base: string;
  readonly allowance: Allowance;
  readonly scans: ScanLimit;
}

interface Endpoint {
  readonly kind: Kind;
  find(db: Store["reader"], idpUid: string, id: string): Promise<Row>;
  create(directory: Directory, body: Json): Promise<Row>;
  replace(directory: Directory, id: string, body: Json, ifMatch: string | undefined): Promise<Row>;
  patch(directory: Directory, id: string, body: Json, ifMatch: string | undefined): Promise<Row>;
  remove(directory: Directory, id: string, ifMatch: string | undefined): Promise<void>;
}

const endpoints: Readonly<Record<string, Endpoint>> = {
  Users: { kind: users, find: findUser, create: createUser, replace: replaceUser, patch: patchUser, remove: deleteUser },
  Groups: { kind: groups, find: findGroup, create: createGroup, replace: replaceGroup, patch: patchGroup, remove: deleteGroup },
};

/** Answers everything below `/scim/v2/`; the promise never rejects. */
export function createScimHandler(options: ScimOptions): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const { log, memory, maxConcurrentCalls } = options;
  const scans = createScanLimit(MAX_SCANS);
  let running = 0;
  return async (request, response) => {
    const started = performance.now();
    const allowance = memory.allowCaller();
    const [path = "", ...query] = (request.url ?? "").split("?");
    const route = scimRouteOf(path);
    running++;
    try {
      if (running > maxConcurrentCalls) throw resourceExhausted("the server is at its limit of concurrent calls; try again shortly", 1);
      await serve(request, response, route, new URLSearchParams(query.join("?")), { allowance, scans }, options);
    } catch (error) {
      refuse(request, response, error, log);
    } finally {
      running--;
      allowance.release();
      const ms = Math.round((performance.now() - started) * 1000) / 1000;
      const line = { method: request.method, status: response.statusCode, ms, identityProvider: route?.idpUid, endpoint: route?.endpoint };
      log.info({ ...line, id: route?.id, remote: request.socket?.remoteAddress }, "scim");
    }
  };
}

async function serve(
  request: HttpRequest,
  response: HttpResponse,
  route: ScimRoute | undefined,
  query: URLSearchParams,
  limits: Pick<ScimExchange, "allowance" | "scans">,
  { store, grants, clock, baseUrl }: ScimOptions,
): Promise<void> {
  const provider = await authenticateDirectory(store.reader, route?.idpUid, request.headers.authorization, clock.now());
  if (route === undefined) throw nothingThere();
  const directory = { provider, store, grants, clock };
  const base = `${baseUrl}/scim/v2/${provider.uid}`;
  await dispatch({ request, response, method: request.method ?? "", route, query, directory, base, ...limits });
}

function dispatch(exchange: ScimExchange): Promise<void> | void {
  const { route, base } = exchange;
  const { endpoint, id } = route;
  const known = Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
  if (known !== undefined) {
    if (id === ".search") return search(exchange, [known.kind]);
    return id === undefined ? serveAll(exchange, known) : serveOne(exchange, known, id);
  }
  switch (endpoint) {
    case ".search":
      return search(exchange, [users, groups]);
    case "ServiceProviderConfig":
      return describe(exchange, () => (id === undefined ? serviceProviderConfig(base) : undefined));
    case "ResourceTypes":
      return describe(exchange, () => picked(describeResourceTypes(base), id));
    case "Schemas":
      return describe(exchange, () => picked(describeSchemas(base), id));
    case "Bulk":
    case "Me":
      throw new ScimError(501, undefined, `/${endpoint} is not supported`);
    default:
      throw nothingThere();
  }
}

async function serveAll(exchange: ScimExchange, { kind, create }: Endpoint): Promise<void> {
  const { method, query, directory } = exchange;
  assertMethod(exchange, "GET", "POST");
  if (method === "GET") return answer(exchange, 200, await list(exchange, [kind], searchRequestFrom(parametersOfQuery(query))));
  return answerRow(exchange, 201, kind, await create(directory, await readJson(exchange)));
}

async function serveOne(exchange: ScimExchange, endpoint: Endpoint, id: string): Promise<void> {
  const { method, request, query, directory } = exchange;
  assertMethod(exchange, "GET", "PUT", "PATCH", "DELETE");
  const { kind } = endpoint;
  const ifMatch = request.headers["if-match"];
  switch (method) {
    case "GET":
      return answerRow(exchange, 200, kind, await endpoint.find(directory.store.reader, directory.provider.uid, id));
    case "PUT":
      return answerRow(exchange, 200, kind, await endpoint.replace(directory, id, await readJson(exchange), ifMatch));
    case "DELETE":
      await endpoint.remove(directory, id, ifMatch);
      return answer(exchange, 204, undefined);
    default: {
      const row = await endpoint.patch(directory, id, await readJson(exchange), ifMatch);
      // Whoever adds one member to a large group does not want all of them back (RFC 7644 §3.5.2).
      return kind === groups && !query.has("attributes") ? answer(exchange, 204, undefined, row) : answerRow(exchange, 200, kind, row);
    }
  }
}

async function search(exchange: ScimExchange, kinds: readonly Kind[]): Promise<void> {
  assertMethod(exchange, "POST");
  answer(exchange, 200, await list(exchange, kinds, searchRequestFrom(parametersOfBody(await readJson(exchange)))));
}

function list(
  { directory, base, scans }: ScimExchange,
  kinds: readonly Kind[],
  request: ReturnType<typeof searchRequestFrom>,
): Promise<Json> {
  return answerList(kinds, request, { store: directory.store, idpUid: directory.provider.uid, base, scans });
}

function describe(exchange: ScimExchange, find: () => Json | undefined): void {
  assertMethod(exchange, "GET");
  // RFC 7644 §4: these are not to be filtered.
  if (exchange.query.has("filter")) throw new ScimError(403, undefined, "this cannot be filtered");
  const found = find();
  if (found === undefined) throw nothingThere();
  answer(exchange, 200, found);
}

function picked(all: readonly Json[], id: string | undefined): Json | undefined {
  if (id !== undefined) return all.find((each) => String(each.id).toLowerCase() === id.toLowerCase());
  const schemas = ["urn:ietf:params:scim:api:messages:2.0:ListResponse"];
  return { schemas, totalResults: all.length, startIndex: 1, itemsPerPage: all.length, Resources: all };
}

async function readJson({ request, allowance }: ScimExchange): Promise<Json> {
  const bytes = await readBody(request, allowance);
  assertFewMarks(bytes);
  let body: unknown;
  try {
    body = parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw badRequest("invalidSyntax", "the body is not JSON, or has the same name twice in one object");
  }
  if (!isObject(body)) throw badRequest("invalidSyntax", "the body must be a JSON object");
  return body;
}

async function answerRow(exchange: ScimExchange, status: 200 | 201, kind: Kind, row: Row): Promise<void> {
  const { directory, base, query } = exchange;
  const projection = projectionFrom(parametersOfQuery(query));
  answer(exchange, status, await answerOne(directory.store.reader, kind, row, base, projection), row, {
    ...(status === 201 && { location: `${base}${kind.type.endpoint}/${row.id}` }),
  });
}

function answer({ response }: ScimExchange, status: number, body: Json | undefined, row?: Row, headers: Record<string, string> = {}): void {
  const all = { ...headers, "cache-control": "no-store", ...(row !== undefined && { etag: etagOf(row) }) };
  if (body !== undefined) send(response, status, CONTENT_TYPE, JSON.stringify(body), all);
  else sendNothing(response, status, all);
}

function sendNothing(response: HttpResponse, status: number, headers: Record<string, string>): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end();
}

function assertMethod({ method, response }: ScimExchange, ...allowed: readonly string[]): void {
  if (allowed.includes(method)) return;
  response.setHeader("allow", allowed.join(", "));
  throw new ScimError(405, undefined, `use ${allowed.join(" or ")} here`);
}

function nothingThere(): ScimError {
  return new ScimError(404, undefined, "there is nothing of that name");
}

function refuse(request: HttpRequest, response: HttpResponse, error: unknown, log: Log): void {
  if (response.headersSent) return void response.destroy();
  sendScimError(response, error, log);
  if (request.complete) return;
  // It gets the time to read the answer, and not to send for as long as it likes.
  const timer = setTimeout(() => request.destroy(), LINGER_MS).unref();
  request.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
}
