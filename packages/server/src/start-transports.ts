/** Serves the operations and protocols of the domains on one port. */
import { services } from "@holt/api";
import { attentionService } from "./api/attention.ts";
import { createReadFilter } from "./api/call/audit-call.ts";
import type { Authenticator } from "./api/call/authenticate.ts";
import { createCallMetrics } from "./api/call/call-metrics.ts";
import { createCallRates } from "./api/call/call-rates.ts";
import type { ServiceImplementation } from "./api/call/implement.ts";
import { compileOperations, type Operation } from "./api/call/operation.ts";
import { createRun, type Run } from "./api/call/run.ts";
import { UnservedCalls } from "./api/call/unserved-calls.ts";
import type { Platform, Served } from "./api/domain.ts";
import { createGrpcHandler, type GrpcHandler } from "./api/grpc/grpc-handler.ts";
import { createHealth, type Health } from "./api/grpc/health.ts";
import { createDocsHandler } from "./api/openapi/docs-page.ts";
import { createOpenApiHandler } from "./api/openapi/openapi.ts";
import { pingService, pingServiceV1 } from "./api/ping.ts";
import { createRefusal } from "./api/rest/error.ts";
import { createRestHandler } from "./api/rest/rest.ts";
import { searchService } from "./api/search.ts";
import { finderOf } from "./api/search-column.ts";
import type { Config } from "./config.ts";
import { CONSOLE_PATH, createConsole } from "./console/console.ts";
import { sqlitePath } from "./db/open.ts";
import { searchSources } from "./domains.ts";
import type { RequestHandler } from "./http/http-exchange.ts";
import { createListener, type Listener } from "./http/listener.ts";
import { assertNoneShadowed } from "./http/mount.ts";
import { compileProxyAddresses } from "./http/proxy-addresses.ts";
import { createRouter } from "./http/router.ts";
import { createServerPages } from "./http/server-pages.ts";
import { DatabaseCheck } from "./jobs/database-check.ts";
import { unavailable } from "./lib/errors.ts";
import type { StartedPlatform } from "./start-platform.ts";
import { unimplemented } from "./unimplemented.ts";

export interface Transports {
  readonly listener: Listener;
  readonly health: Health;
}

export interface ServedDomains {
  readonly served: readonly Served[];
  readonly authenticator: Authenticator;
}

/** @param stack closes what was started, in reverse order */
export async function startTransports(
  config: Config,
  started: StartedPlatform,
  { served, authenticator }: ServedDomains,
  stack: AsyncDisposableStack,
): Promise<Transports> {
  const { platform, callerSlots, disk } = started;
  const { profile, limits, memory, log, baseUrl } = platform;
  const operations = compileOperations(services, implementationsOf(served), unimplemented);
  const unserved = new UnservedCalls(log, platform.clock);
  const run = createCallRun(config, started, { operations, unserved, authenticator });
  const health = startHealth(config, platform, stack);
  const grpc = createGrpcHandler({ operations, services, run, profile, limits, memory, health, log, unserved });
  const openapi = createOpenApiHandler({ operations, baseUrl });
  const consoleMounts = config.console ? [createConsole(log)] : [];
  const consolePath = config.console ? CONSOLE_PATH : undefined;
  const pages = createServerPages({ health, warning: () => disk.problem(), openapi, docs: createDocsHandler(), consolePath });
  const mounts = [...pages, ...consoleMounts, ...served.flatMap((domain) => domain.mounts ?? [])];
  assertNoneShadowed(
    mounts,
    operations.flatMap(({ bindings }) => bindings.map(({ path }) => path)),
  );
  const router = createRouter({
    mounts,
    rest: createRestHandler({ operations, run, profile, memory, log, unserved, callerSlots }),
    refuse: createRefusal(profile),
    limits,
  });
  return { listener: stack.use(await listen(config, started, grpc, router)), health };
}

function implementationsOf(served: readonly Served[]): readonly ServiceImplementation[] {
  return [
    ...served.flatMap((domain) => domain.services ?? []),
    attentionService(served.flatMap((domain) => domain.attention ?? [])),
    searchService([...searchSources.map(finderOf), ...served.flatMap((domain) => domain.search ?? [])]),
    pingService,
    pingServiceV1,
  ];
}

interface CallParts {
  readonly operations: readonly Operation[];
  readonly unserved: UnservedCalls;
  readonly authenticator: Authenticator;
}

function createCallRun(
  { requiredTerms, auditReads }: Config,
  { platform, callLimit: limit, disk, recorder }: StartedPlatform,
  { operations, unserved, authenticator }: CallParts,
): Run {
  const names = operations.map(({ name }) => name);
  const audit = { recorder, isAuditedRead: createReadFilter(auditReads, names) };
  const metrics = createCallMetrics(platform.meter, operations);
  return createRun({ ...platform, limit, unserved, disk, metrics, rates: createCallRates(), authenticator, requiredTerms, audit });
}

/** The database is checked in the background. PostgreSQL manages its files itself, and the operator may turn the check off. */
function startHealth(config: Config, { store, log }: Platform, stack: AsyncDisposableStack): Health {
  const { databaseUrl, dataDir, databaseCheckMs: intervalMs } = config;
  const isChecked = databaseUrl === "" && intervalMs !== 0;
  const check = isChecked ? stack.use(new DatabaseCheck({ path: sqlitePath(dataDir), log, intervalMs })) : undefined;
  return createHealth(async () => {
    await store.ping();
    const problem = check?.problem();
    if (problem !== undefined) throw unavailable(problem);
  });
}

function listen(
  { listen: address, tlsCert: certFile, tlsKey: keyFile, trustedProxies }: Config,
  { platform: { limits, log }, refused }: StartedPlatform,
  grpc: GrpcHandler,
  router: RequestHandler,
): Promise<Listener> {
  return createListener({
    ...address,
    tls: certFile === "" ? undefined : { certFile, keyFile },
    onStream: grpc.handleStream,
    onRequest: (request, response) => void (grpc.handleRequest(request, response) || router(request, response)),
    limits,
    isProxy: compileProxyAddresses(trustedProxies),
    log,
    onRefusal: refused,
  });
}
