/** Composes the server: the platform, then the domains, then the listener. */
import { join } from "node:path";
import { services } from "@holt/api";
import packageJson from "../package.json" with { type: "json" };
import { startAdvisories } from "./advisories/module.ts";
import { attentionService } from "./api/attention.ts";
import { createReadFilter } from "./api/call/audit-call.ts";
import { createCallMetrics } from "./api/call/call-metrics.ts";
import { createCallRates } from "./api/call/call-rates.ts";
import { compileOperations } from "./api/call/operation.ts";
import { createRun } from "./api/call/run.ts";
import { UnservedCalls } from "./api/call/unserved-calls.ts";
import { createGrpcHandler } from "./api/grpc/grpc-handler.ts";
import { createHealth } from "./api/grpc/health.ts";
import type { Platform, Served } from "./api/module.ts";
import { createDocsHandler } from "./api/openapi/docs-page.ts";
import { createOpenApiHandler } from "./api/openapi/openapi.ts";
import { pingService, pingServiceV1 } from "./api/ping.ts";
import { createPageTokens } from "./api/resource/page-token.ts";
import { createRefusal } from "./api/rest/error.ts";
import { createRestHandler } from "./api/rest/rest.ts";
import { searchService } from "./api/search.ts";
import { startAuditing } from "./auditing/module.ts";
import { Recorder } from "./auditing/recorder.ts";
import { startWalArchive } from "./backup/wal-archive/start-wal-archive.ts";
import { openInstallation } from "./cli/open-installation.ts";
import type { Config } from "./config.ts";
import { CONSOLE_PATH, createConsole } from "./console/console.ts";
import { sqlitePath } from "./db/open.ts";
import { meterDatabase } from "./db/usage-metrics.ts";
import { blobReferences, domains, eventSubjects, jobQueues, migrations, searchSources } from "./domains.ts";
import { startEvents } from "./events/module.ts";
import { createCallerSlots } from "./http/caller-slots.ts";
import { createListener } from "./http/listener.ts";
import { assertNoneShadowed } from "./http/mount.ts";
import { createProtocolFrame } from "./http/protocol-frame.ts";
import { createProtocolMetrics } from "./http/protocol-metrics.ts";
import { compileProxyAddresses } from "./http/proxy-addresses.ts";
import { createRefusalCounter } from "./http/refusal-metrics.ts";
import { RequestMemory } from "./http/request-memory.ts";
import { createRouter } from "./http/router.ts";
import { createServerPages } from "./http/server-pages.ts";
import { defaultLimits, type TransportLimits } from "./http/transport-limits.ts";
import { startIam } from "./iam/module.ts";
import { startKeyRotation } from "./iam/tokens/key-rotation.ts";
import { DatabaseCheck } from "./jobs/database-check.ts";
import { meterDiskSpace } from "./jobs/disk-metrics.ts";
import { DiskSpace } from "./jobs/disk-space.ts";
import { startReleasingPages } from "./jobs/free-pages.ts";
import { type ConcurrencyLimit, createCallLimit } from "./jobs/limit.ts";
import { Parsers } from "./jobs/parsers.ts";
import { meterQueues } from "./jobs/queue-usage.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { unavailable } from "./lib/errors.ts";
import { createListeners } from "./lib/listeners.ts";
import type { Log } from "./lib/log.ts";
import type { Meter } from "./lib/meter.ts";
import { noTracer, type Tracer } from "./lib/tracer.ts";
import { startLibraries } from "./libraries/module.ts";
import { MAIL_QUEUE, startMail } from "./mail/mail-worker.ts";
import { startMetrics } from "./metrics/start-metrics.ts";
import { startRegistry } from "./registry/module.ts";
import { createDirectoryEmptying } from "./scim/empty-directory.ts";
import { startScim } from "./scim/module.ts";
import { takeHeadlessSession } from "./sign-in/headless.ts";
import { startSignIn } from "./sign-in/module.ts";
import { createSignInLink } from "./sign-in/sign-in-link.ts";
import { readTrustedRoot } from "./trusted-root-file.ts";
import { unimplemented } from "./unimplemented.ts";

export interface App extends AsyncDisposable {
  readonly port: number;
  /** Signs the bootstrap owner in to the console; only after the first start. */
  readonly signInLink: string | undefined;
  /** Is not ready any more, but serves everything. */
  announceStop(): void;
  /** Takes no new connections and resolves when the running calls are answered. */
  drain(): Promise<void>;
}

function limitsFrom(config: Config): Partial<TransportLimits> {
  return {
    connectionsPerAddress: config.maxConnectionsPerAddress,
    connectionsPerCaller: config.maxConnectionsPerCaller,
    transfersPerCaller: config.maxTransfersPerCaller,
    readIdleMs: config.readTimeoutMs,
  };
}

/** Parts that only tests replace, and the tracer. */
export interface AppOptions {
  readonly clock?: Clock;
  readonly limits?: Partial<TransportLimits> | undefined;
  /** The limit of the process, instead of HOLT_MAX_CONCURRENT_CALLS. */
  readonly callLimit?: ConcurrencyLimit | undefined;
  /** By default nothing is traced. */
  readonly tracer?: Tracer;
  /** Measures the server, which then does not serve its metrics itself. */
  readonly meter?: Meter | undefined;
}

/** Undefined with PostgreSQL, which manages its files itself, and if the operator turned the check off. */
function startDatabaseCheck({ databaseUrl, dataDir, databaseCheckMs: intervalMs }: Config, log: Log): DatabaseCheck | undefined {
  if (databaseUrl !== "" || intervalMs === 0) return undefined;
  return new DatabaseCheck({ path: sqlitePath(dataDir), log, intervalMs });
}

function createMeteredLimit(maxConcurrentCalls: number, meter: Meter, onRefusal: () => void): ConcurrencyLimit {
  const limit = createCallLimit(maxConcurrentCalls, onRefusal);
  const help = "Calls and other requests that hold a slot of HOLT_MAX_CONCURRENT_CALLS.";
  meter.read({ type: "gauge", name: "holt_calls_running", help }, () => [{ value: limit.taken() }]);
  return limit;
}

/** A server that is listening. Everything that it opened is closed again in reverse order, also when a later step fails. */
export async function createApp(
  config: Config,
  log: Log,
  { clock = systemClock, limits: given, callLimit, tracer = noTracer, meter: givenMeter }: AppOptions = {},
): Promise<App> {
  await using stack = new AsyncDisposableStack();
  const limits = { ...defaultLimits, ...limitsFrom(config), ...given };
  const { baseUrl, vendorProfile: profile, requiredTerms, tlsCert: certFile, tlsKey: keyFile } = config;
  const meter = givenMeter ?? stack.use(await startMetrics(config.metricsListen, log)).meter;
  const workListeners = createListeners();
  const onWork = workListeners.notify;
  const installation = stack.use(await openInstallation(config, { use: "server", log, clock, meter, tracer, onWork }));
  const { store, grants } = installation;
  stack.use(await startWalArchive(config, { store, clock, log, meter, version: packageJson.version, schema: migrations.length }));
  meterDatabase(store, meter);
  meterQueues({ store, clock, meter, queues: [...jobQueues, MAIL_QUEUE] });
  const blobs = await installation.openBlobs();
  const secrets = await installation.openSecrets();
  const keys = await installation.openKeys();
  const { bootstrapOwner, pageTokenKey, isFirstStart } = await installation.bootstrap();
  stack.use(startReleasingPages(store, log));
  stack.use(startKeyRotation({ keys, log, ageMs: config.signingKeyRotationMs }));

  const appendListeners = createListeners();
  const memory = new RequestMemory(limits);
  const refused = createRefusalCounter(meter);
  const limit = callLimit ?? createMeteredLimit(config.maxConcurrentCalls, meter, () => refused("concurrent-calls"));
  const callerSlots = createCallerSlots(limits.transfersPerCaller, () => refused("transfers-per-caller"));
  const folders = { data: config.dataDir, blobs: join(config.dataDir, "blobs") };
  const disk = stack.use(await DiskSpace.start({ folders, minFreeBytes: config.minFreeDiskBytes, log }));
  meterDiskSpace(disk, meter);
  const recorder = stack.use(new Recorder({ store, clock, log }));
  const parsers = stack.use(new Parsers());
  const mail = startMail({ store, clock, log, secrets, settings: config });
  if (mail.worker !== undefined) stack.use(mail.worker);
  const trustedRoot = await readTrustedRoot(config.sigstoreTrustedRoot);
  const platform: Platform = {
    ...{ store, blobs, clock, log, meter, tracer, profile, baseUrl, bootstrapOwner, domains, blobReferences },
    ...{ appendListeners, workListeners, limits, memory, parsers },
    mailer: mail.mailer,
    trustedRoot,
    registryHost: new URL(config.registryUrl).host,
    names: { profile, baseUrl, subjects: eventSubjects, onAppend: appendListeners.notify },
    pageTokens: createPageTokens(pageTokenKey),
    frame: createProtocolFrame({ limit, log, callerSlots, disk, metrics: createProtocolMetrics(meter), tracer, clock, recorder }),
    own: (resource) => stack.use(resource),
  };
  const emptyDirectory = createDirectoryEmptying(store);
  const { iam, served: servedByIam } = startIam(platform, { grants, keys, secrets, emptyDirectory, takeHeadlessSession }, config);
  const served: Served[] = [
    servedByIam,
    startEvents(platform, iam, config),
    startRegistry(platform, iam, config),
    startLibraries(platform, iam, config),
    startAdvisories(platform, iam, config),
    startScim(platform, iam),
    startSignIn(platform, iam, config),
    startAuditing(platform, iam, config),
  ];

  const implementations = [
    ...served.flatMap((domain) => domain.services ?? []),
    attentionService(served.flatMap((domain) => domain.attention ?? [])),
    searchService(searchSources),
    pingService,
    pingServiceV1,
  ];
  const operations = compileOperations(services, implementations, unimplemented);
  const audit = { recorder, isAuditedRead: createReadFilter(config.auditReads) };
  const unserved = new UnservedCalls(log, clock);
  const calls = { limit, unserved, disk, metrics: createCallMetrics(meter, operations), rates: createCallRates() };
  const run = createRun({ ...platform, ...calls, authenticator: iam.authenticator, requiredTerms, audit });
  const check = startDatabaseCheck(config, log);
  if (check !== undefined) stack.use(check);
  const health = createHealth(async () => {
    await store.ping();
    const problem = check?.problem();
    if (problem !== undefined) throw unavailable(problem);
  });
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
  const listener = stack.use(
    await createListener({
      ...config.listen,
      tls: certFile === "" ? undefined : { certFile, keyFile },
      onStream: grpc.handleStream,
      onRequest: (request, response) => void (grpc.handleRequest(request, response) || router(request, response)),
      limits,
      isProxy: compileProxyAddresses(config.trustedProxies),
      log,
      onRefusal: refused,
    }),
  );
  const wantsLink = isFirstStart && config.console;
  const signInLink = wantsLink ? await store.transaction((db) => createSignInLink(db, baseUrl, clock.now(), secrets)) : undefined;
  const owned = stack.move();
  return {
    port: listener.port,
    signInLink,
    announceStop() {
      health.drain();
      listener.announceStop();
    },
    drain() {
      health.drain();
      return listener.drain();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
