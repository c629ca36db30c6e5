/** Starts what the domains of a server share: database, blobs, keys, limits, and background work that belongs to no domain. */
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import type { Platform } from "./api/domain.ts";
import { createPageTokens } from "./api/resource/page-token.ts";
import { Recorder } from "./auditing/recorder.ts";
import { startWalArchive } from "./backup/wal-archive/start-wal-archive.ts";
import { openInstallation } from "./cli/open-installation.ts";
import type { Config } from "./config.ts";
import { meterDatabase } from "./db/usage-metrics.ts";
import { blobReferences, domains, eventSubjects, jobQueues, migrations } from "./domains.ts";
import { type CallerSlots, createCallerSlots } from "./http/caller-slots.ts";
import { createProtocolFrame } from "./http/protocol-frame.ts";
import { createProtocolMetrics } from "./http/protocol-metrics.ts";
import { createRefusalCounter } from "./http/refusal-metrics.ts";
import { RequestMemory } from "./http/request-memory.ts";
import { defaultLimits, type TransportLimits } from "./http/transport-limits.ts";
import type { Grants } from "./iam/grants/grants.ts";
import type { Secrets } from "./iam/secrets/secrets.ts";
import { startKeyRotation } from "./iam/tokens/key-rotation.ts";
import type { SigningKeys } from "./iam/tokens/signing-keys.ts";
import { meterDiskSpace } from "./jobs/disk-metrics.ts";
import { DiskSpace } from "./jobs/disk-space.ts";
import { startReleasingPages } from "./jobs/free-pages.ts";
import { type ConcurrencyLimit, createCallLimit } from "./jobs/limit.ts";
import { Parsers } from "./jobs/parsers.ts";
import { meterQueues } from "./jobs/queue-usage.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { createListeners } from "./lib/listeners.ts";
import type { Log } from "./lib/log.ts";
import type { Meter } from "./lib/meter.ts";
import { noTracer, type Tracer } from "./lib/tracer.ts";
import { MAIL_QUEUE } from "./mail/mail-queue.ts";
import { startMail } from "./mail/mail-worker.ts";
import { startMetrics } from "./metrics/start-metrics.ts";
import { readTrustedRoot } from "./settings/trusted-root-file.ts";

/** Parts that only tests replace, the tracer and the meter. */
export interface PlatformOptions {
  readonly clock?: Clock;
  readonly limits?: Partial<TransportLimits> | undefined;
  /** The limit of the process, instead of HOLT_MAX_CONCURRENT_CALLS. */
  readonly callLimit?: ConcurrencyLimit | undefined;
  /** By default nothing is traced. */
  readonly tracer?: Tracer;
  /** Measures the server, which then does not serve its metrics itself. */
  readonly meter?: Meter | undefined;
}

export interface StartedPlatform {
  readonly platform: Platform;
  readonly grants: Grants;
  readonly keys: SigningKeys;
  readonly secrets: Secrets;
  /** Whether this start created the first organization. */
  readonly isFirstStart: boolean;
  readonly callLimit: ConcurrencyLimit;
  readonly callerSlots: CallerSlots;
  readonly disk: DiskSpace;
  readonly recorder: Recorder;
  /** Counts a refusal by a limit of the process. */
  readonly refused: ReturnType<typeof createRefusalCounter>;
}

/** @param stack closes what was started, in reverse order */
export async function startPlatform(
  config: Config,
  log: Log,
  { clock = systemClock, limits: given, callLimit: givenLimit, tracer = noTracer, meter: givenMeter }: PlatformOptions,
  stack: AsyncDisposableStack,
): Promise<StartedPlatform> {
  const limits = { ...defaultLimits, ...limitsFrom(config), ...given };
  const { baseUrl, vendorProfile: profile } = config;
  const meter = givenMeter ?? stack.use(await startMetrics(config.metricsListen, log)).meter;
  const workListeners = createListeners();
  const onWork = workListeners.notify;
  const { installation, blobs, secrets, keys, bootstrapped } = await openState(config, { log, clock, meter, tracer, onWork, stack });
  const { store, grants } = installation;
  const { bootstrapOwner, pageTokenKey, isFirstStart } = bootstrapped;

  const appendListeners = createListeners();
  const refused = createRefusalCounter(meter);
  const callLimit = givenLimit ?? createMeteredLimit(config.maxConcurrentCalls, meter, () => refused("concurrent-calls"));
  const callerSlots = createCallerSlots(limits.transfersPerCaller, () => refused("transfers-per-caller"));
  const disk = await watchDisk(config, { log, meter, stack });
  const recorder = stack.use(new Recorder({ store, clock, log }));
  const parsers = stack.use(new Parsers());
  const mail = startMail({ store, clock, log, secrets, settings: config });
  if (mail.worker !== undefined) stack.use(mail.worker);
  const metrics = createProtocolMetrics(meter);
  const platform: Platform = {
    store,
    blobs,
    clock,
    log,
    meter,
    tracer,
    profile,
    baseUrl,
    bootstrapOwner,
    domains,
    blobReferences,
    appendListeners,
    workListeners,
    limits,
    parsers,
    memory: new RequestMemory(limits),
    mailer: mail.mailer,
    trustedRoot: await readTrustedRoot(config.sigstoreTrustedRoot),
    registryHost: new URL(config.registryUrl).host,
    names: { profile, baseUrl, subjects: eventSubjects, onAppend: appendListeners.notify },
    pageTokens: createPageTokens(pageTokenKey),
    frame: createProtocolFrame({ limit: callLimit, log, callerSlots, disk, metrics, tracer, clock, recorder }),
    own: (resource) => stack.use(resource),
  };
  return { platform, grants, keys, secrets, isFirstStart, callLimit, callerSlots, disk, recorder, refused };
}

interface StateParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly tracer: Tracer;
  readonly stack: AsyncDisposableStack;
  onWork(): void;
}

/** Opens what an installation keeps: database, blobs and keys. Starts what maintains and measures them. */
async function openState(config: Config, { log, clock, meter, tracer, stack, onWork }: StateParts) {
  const installation = stack.use(await openInstallation(config, { use: "server", log, clock, meter, tracer, onWork }));
  const { store } = installation;
  stack.use(await startWalArchive(config, { store, clock, log, meter, version: packageJson.version, schema: migrations.length }));
  meterDatabase(store, meter);
  meterQueues({ store, clock, meter, queues: [...jobQueues, MAIL_QUEUE] });
  const blobs = await installation.openBlobs();
  const secrets = await installation.openSecrets();
  const keys = await installation.openKeys();
  const bootstrapped = await installation.bootstrap();
  stack.use(startReleasingPages(store, log));
  stack.use(startKeyRotation({ keys, log, ageMs: config.signingKeyRotationMs }));
  return { installation, blobs, secrets, keys, bootstrapped };
}

function limitsFrom(config: Config): Partial<TransportLimits> {
  return {
    connectionsPerAddress: config.maxConnectionsPerAddress,
    connectionsPerCaller: config.maxConnectionsPerCaller,
    transfersPerCaller: config.maxTransfersPerCaller,
    readIdleMs: config.readTimeoutMs,
  };
}

function createMeteredLimit(maxConcurrentCalls: number, meter: Meter, onRefusal: () => void): ConcurrencyLimit {
  const limit = createCallLimit(maxConcurrentCalls, onRefusal);
  const help = "Calls and other requests that hold a slot of HOLT_MAX_CONCURRENT_CALLS.";
  meter.read({ type: "gauge", name: "holt_calls_running", help }, () => [{ value: limit.taken() }]);
  return limit;
}

interface DiskWatch {
  readonly log: Log;
  readonly meter: Meter;
  readonly stack: AsyncDisposableStack;
}

async function watchDisk({ dataDir, minFreeDiskBytes: minFreeBytes }: Config, { log, meter, stack }: DiskWatch): Promise<DiskSpace> {
  const folders = { data: dataDir, blobs: join(dataDir, "blobs") };
  const disk = stack.use(await DiskSpace.start({ folders, minFreeBytes, log }));
  meterDiskSpace(disk, meter);
  return disk;
}
