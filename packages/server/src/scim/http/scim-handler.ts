/** Serves `/scim/v2/`: authenticates the directory and hands the request to the handler of its endpoint. */
import { auditedStore } from "../../audit/append.ts";
import type { Store } from "../../db/store.ts";
import type { RequestHandler } from "../../http/http-exchange.ts";
import type { ProtocolExchange, ProtocolFrame } from "../../http/protocol-frame.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import type { Grants } from "../../iam/grants/grants.ts";
import { createFairLimit } from "../../jobs/limit.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import type { Clock } from "../../lib/clock.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";
import type { Directory } from "../directory.ts";
import { ScimError } from "../scim-error.ts";
import { groups, users } from "../storage.ts";
import { authenticateDirectory } from "./authenticate.ts";
import { serveBulk } from "./bulk.ts";
import { describeServer } from "./discovery.ts";
import { sendScimError } from "./error.ts";
import { endpoints, search, serveAll, serveOne } from "./resources.ts";
import { type ScimRoute, scimRouteOf } from "./routes.ts";
import { noSuchPath, type ScimExchange } from "./scim-exchange.ts";

export interface ScimOptions {
  readonly frame: ProtocolFrame;
  readonly store: Store;
  readonly grants: Grants;
  readonly clock: Clock;
  readonly memory: RequestMemory;
  readonly parsers: Parsers;
  /** The URL of this server, without a trailing slash. */
  readonly baseUrl: string;
}

/** Lists that are scanned row by row at the same time. Each takes as much processor time as hundreds of other requests. */
const MAX_SCANS = 4;
/** Bulk requests at the same time. Each holds a slot for hundreds of transactions. */
const MAX_BULKS = 4;

/** `route` is undefined for an unknown path. */
interface State {
  readonly route: ScimRoute | undefined;
}

type Exchange = ProtocolExchange<State>;

/** Serves everything below `/scim/v2/`. */
export function createScimHandler(options: ScimOptions): RequestHandler {
  const scans = createFairLimit(MAX_SCANS, () =>
    resourceExhausted("the server already searches as many directories of the organization as it may; try again shortly", 1),
  );
  const bulks = createFairLimit(MAX_BULKS, () =>
    resourceExhausted("the server already works on as many bulk requests of the organization as it may; try again shortly", 1),
  );
  return options.frame<State>({
    name: "scim",
    createState: ({ url = "" }) => ({ route: scimRouteOf(url.split("?", 1)[0] ?? "") }),
    serve: (exchange) => serve(exchange, { scans, bulks }, options),
    refuse: ({ response, reportFault }, error) => sendScimError(response, error, reportFault),
    logFields: ({ state: { route } }) => ({ identityProvider: route?.idpUid, endpoint: route?.endpoint, id: route?.id }),
  });
}

type Limits = Pick<ScimExchange, "scans" | "bulks">;

async function serve(exchange: Exchange, limits: Limits, options: ScimOptions): Promise<void> {
  const { request, response, method, reportFault } = exchange;
  const authenticated = await authenticate(exchange, options);
  exchange.identify(authenticated.directory.provider.uid);
  const { memory, parsers } = options;
  const allowance = memory.allowKnown(response.answer);
  try {
    const query = new URLSearchParams(exchange.query);
    const transfer: Exchange["transfer"] = (work) => exchange.transfer(work);
    await dispatch({ request, response, method, reportFault, query, allowance, parsers, transfer, ...limits, ...authenticated });
  } finally {
    allowance.release();
  }
}

/** Runs before the route is looked at: callers that are not authenticated do not learn which paths exist. */
async function authenticate(
  exchange: Exchange,
  { store, grants, clock, baseUrl }: ScimOptions,
): Promise<Pick<ScimExchange, "route" | "directory" | "directoryFor" | "base">> {
  const { request, method, remoteAddress } = exchange;
  const { route } = exchange.state;
  const provider = await authenticateDirectory(store.reader, route?.idpUid, request.headers.authorization, clock.now());
  if (route === undefined) throw noSuchPath();
  const facts = {
    actor: provider.uid,
    protocol: "scim",
    remoteAddress,
    outcome: "OK",
    client: request.headers["user-agent"],
    target: provider.uid,
    organization: rootOf(provider.uid),
  };
  // The transactions of a directory are its changes.
  const directoryFor = (verb: string): Directory => {
    const audited = auditedStore(store, { ...facts, action: `scim ${verb}` }, () => clock.now());
    return { provider, store: audited, grants, clock };
  };
  return { route, directory: directoryFor(method), directoryFor, base: `${baseUrl}/scim/v2/${provider.uid}` };
}

function dispatch(exchange: ScimExchange): Promise<void> | void {
  const { endpoint, id } = exchange.route;
  const resources = endpoints.get(endpoint);
  if (resources !== undefined) {
    if (id === ".search") return search(exchange, [resources.kind]);
    return id === undefined ? serveAll(exchange, resources) : serveOne(exchange, resources, id);
  }
  if (endpoint === ".search") return search(exchange, [users, groups]);
  if (endpoint === "Bulk" && id === undefined) return serveBulk(exchange);
  if (endpoint === "Me") throw new ScimError(501, undefined, "/Me is not supported");
  return describeServer(exchange);
}
