/** `/scim/v2/`: who provisions, what it is about, the answer or the error. What users and groups are is not known here. */

import type { Store } from "../../db/store.ts";
import { cutOffSoon } from "../../http/body-time.ts";
import type { HttpRequest, HttpResponse } from "../../http/http-exchange.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import type { Grants } from "../../iam/grants/grants.ts";
import { createLimit } from "../../jobs/limit.ts";
import type { Clock } from "../../lib/clock.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { groups, users } from "../kind.ts";
import { ScimError } from "../scim-error.ts";
import { authenticateDirectory } from "./authenticate.ts";
import { describeServer } from "./discovery.ts";
import { sendScimError } from "./error.ts";
import { endpoints, search, serveAll, serveOne } from "./resources.ts";
import { type ScimRoute, scimRouteOf } from "./routes.ts";
import { nothingThere, type ScimExchange } from "./scim-exchange.ts";

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

/** Lists that are looked through one by one at a time: each takes the processor for as long as hundreds of other requests. */
const MAX_SCANS = 4;

/** Answers everything below `/scim/v2/`; the promise never rejects. */
export function createScimHandler(options: ScimOptions): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const { log, memory, maxConcurrentCalls } = options;
  const scans = createLimit(MAX_SCANS, () => resourceExhausted("the server is searching directories already; try again shortly", 1));
  let running = 0;
  return async (request, response) => {
    const started = performance.now();
    const [path = "", ...query] = (request.url ?? "").split("?");
    const route = scimRouteOf(path);
    const allowance = memory.allowCaller();
    running++;
    try {
      if (running > maxConcurrentCalls) throw resourceExhausted("the server is at its limit of concurrent calls; try again shortly", 1);
      const parts = { request, response, method: request.method ?? "", query: new URLSearchParams(query.join("?")), allowance, scans };
      await dispatch({ ...parts, ...(await authenticate(request, route, options)) });
    } catch (error) {
      refuse(request, response, error, log);
    } finally {
      running--;
      allowance.release();
      logRequest(log, request, response, route, started);
    }
  };
}

/** What there is to a path is told to nobody who is not known. */
async function authenticate(
  { headers }: HttpRequest,
  route: ScimRoute | undefined,
  { store, grants, clock, baseUrl }: ScimOptions,
): Promise<Pick<ScimExchange, "route" | "directory" | "base">> {
  const provider = await authenticateDirectory(store.reader, route?.idpUid, headers.authorization, clock.now());
  if (route === undefined) throw nothingThere();
  return { route, directory: { provider, store, grants, clock }, base: `${baseUrl}/scim/v2/${provider.uid}` };
}

function dispatch(exchange: ScimExchange): Promise<void> | void {
  const { endpoint, id } = exchange.route;
  const resources = endpoints.get(endpoint);
  if (resources !== undefined) {
    if (id === ".search") return search(exchange, [resources.kind]);
    return id === undefined ? serveAll(exchange, resources) : serveOne(exchange, resources, id);
  }
  if (endpoint === ".search") return search(exchange, [users, groups]);
  if (endpoint === "Bulk" || endpoint === "Me") throw new ScimError(501, undefined, `/${endpoint} is not supported`);
  return describeServer(exchange);
}

function refuse(request: HttpRequest, response: HttpResponse, error: unknown, log: Log): void {
  if (response.headersSent) return void response.destroy();
  sendScimError(response, error, log);
  cutOffSoon(request);
}

function logRequest(
  log: Log,
  { method, socket }: HttpRequest,
  { statusCode }: HttpResponse,
  route: ScimRoute | undefined,
  started: number,
): void {
  const ms = Math.round((performance.now() - started) * 1000) / 1000;
  const line = { method, status: statusCode, ms, identityProvider: route?.idpUid, endpoint: route?.endpoint, id: route?.id };
  log.info({ ...line, remote: socket?.remoteAddress }, "scim");
}
