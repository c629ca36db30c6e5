/** Opens what an installation consists of: database, blobs, keys and bootstrap resources. The server and every command use it. */
import { hostname, userInfo } from "node:os";
import { sql } from "kysely";
import { appendAudit } from "../audit/append.ts";
import { checkSample } from "../blobs/blob-home.ts";
import type { BlobSettings } from "../blobs/blob-settings.ts";
import { adoptBlobs, type OpenedBlobs, openBlobPlaces, openBlobs } from "../blobs/open-blobs.ts";
import type { BlobStore } from "../blobs/store.ts";
import { traceBlobs } from "../blobs/traced-blobs.ts";
import { type Bootstrap, bootstrap } from "../bootstrap.ts";
import type { Config } from "../config.ts";
import { AccessChangeListener } from "../db/access-change.ts";
import { compactAtStart } from "../db/compact-sqlite.ts";
import { lockDataFolder } from "../db/data-folder-lock.ts";
import { openStore, type StoreOptions, sqlitePath } from "../db/open.ts";
import type { Store } from "../db/store.ts";
import { migrations } from "../domains.ts";
import { createGrants, type Grants } from "../iam/grants/grants.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { openSecrets } from "../iam/secrets/secrets-key.ts";
import { createSigningKeys, type SigningKeys } from "../iam/tokens/signing-keys.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { createLog, type Log } from "../lib/log.ts";
import { type Meter, noMeter } from "../lib/meter.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";

/** The settings that say where an installation is and how it begins. */
export type InstallationSettings = Pick<
  Config,
  "databaseUrl" | "databasePoolSize" | "dataDir" | "baseUrl" | "orgName" | "secretsKey" | "walArchive"
> &
  BlobSettings;

export interface InstallationOptions {
  /**
   * - server: owns the data folder with SQLite, and is notified of changes by other servers with PostgreSQL;
   * - command: can run while a server is running;
   * - bulk: a command that writes much and may use more memory for it;
   * - inspection: like a command, but does not migrate the database, which may be that of an earlier program.
   */
  readonly use: "server" | "command" | "bulk" | "inspection";
  /** The command and its arguments without secrets, for the audit log, which has it before the command does anything. */
  readonly command?: string;
  readonly log?: Log;
  readonly clock?: Clock;
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Called when a server that shares the database has made background work. Must not throw. */
  readonly onWork?: () => void;
}

export interface Installation extends AsyncDisposable {
  readonly store: Store;
  readonly grants: Grants;
  readonly clock: Clock;
  readonly log: Log;
  /** @throws Error for the operator where the blobs of this database are in another folder or bucket, or missing */
  openBlobs(): Promise<BlobStore>;
  /** Opens the two places between which blobs move, each by itself. @throws as openBlobs */
  openBlobPlaces(): Promise<OpenedBlobs>;
  /** Makes the folder or bucket of the settings that of the database. @returns its name for messages */
  adoptBlobs(): Promise<string>;
  openKeys(): Promise<SigningKeys>;
  openSecrets(): Promise<Secrets>;
  /** Creates the first organization and its owner where the database is new. */
  bootstrap(): Promise<Bootstrap>;
}

/** Migrates the database. Everything that was opened is closed again in reverse order. @throws Error for the operator */
export async function openInstallation(settings: InstallationSettings, options: InstallationOptions): Promise<Installation> {
  await using stack = new AsyncDisposableStack();
  const { use, log = createLog("warn"), clock = systemClock, meter = noMeter, tracer = noTracer } = options;
  const { databaseUrl: url, dataDir, databasePoolSize: size } = settings;
  const isServer = use === "server";
  if (isServer && url === "") {
    stack.use(lockDataFolder(dataDir, "SQLite supports one server: set a different HOLT_DATA_DIR, or share a PostgreSQL database"));
    compactAtStart(sqlitePath(dataDir), log);
  }
  const pools = isServer ? { readers: size, writers: size } : {};
  const store = stack.use(
    await openDatabase({
      url,
      dataDir,
      log,
      isForBulk: use === "bulk",
      mustExist: !isServer,
      keepsSchema: use === "inspection",
      meter,
      tracer,
      ...pools,
      keepsWal: isServer && settings.walArchive !== "",
    }),
  );
  const grants =
    isServer && url !== ""
      ? createSharedGrants(url, { store, clock, log, meter, stack, onWork: options.onWork })
      : createGrants({ store, clock, meter });
  if (options.command !== undefined) await auditCommand(store, options.command, clock.now());
  const owned = stack.move();
  return {
    store,
    grants,
    clock,
    log,
    async openBlobs() {
      const blobs = traceBlobs(await openBlobs({ settings, store, log }, owned), tracer);
      if (isServer) checkSample(store, blobs, log).catch((err: unknown) => log.warn({ err }, "cannot check the files of blobs"));
      return blobs;
    },
    openBlobPlaces: () => openBlobPlaces({ settings, store, log }, owned),
    adoptBlobs: () => adoptBlobs({ settings, store, log }),
    openKeys: () => createSigningKeys({ store, clock, log }),
    openSecrets: () => openSecrets({ store, dataDir, key: settings.secretsKey }),
    bootstrap: () => bootstrap({ store, orgName: settings.orgName, issuer: settings.baseUrl, now: clock.now() }, grants),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Access to the database is all that a command needs, so the account of the operating system is the best name of the operator. */
async function auditCommand(store: Store, command: string, now: Date): Promise<void> {
  // A command that does not migrate may find the database of an earlier program.
  const { rows } = await sql<{ name: string }>`${sql.raw(store.dialect.tableNames)}`.execute(store.reader);
  if (!rows.some(({ name }) => name === "audit_entry")) return;
  await store.transaction((db) =>
    appendAudit(db, {
      action: `holtd ${command}`,
      actor: "holtd",
      onBehalfOf: { user: userName(), host: hostname() },
      protocol: "command",
      target: "",
      organization: "",
      outcome: "OK",
      now,
    }),
  );
}

/** A user of a container often has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}

/** A database with the schema of all domains. @param schema number of migrations; by default all @throws Error for the operator */
export function openDatabase(options: Omit<StoreOptions, "migrations">, schema = migrations.length): Promise<Store> {
  return openStore({ ...options, migrations: migrations.slice(0, schema) });
}

interface SharedGrantsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly stack: AsyncDisposableStack;
  readonly onWork: (() => void) | undefined;
}

/** Other servers may change rights in the same PostgreSQL. While this server cannot be notified of that, it caches no rights. */
function createSharedGrants(url: string, { store, clock, log, meter, stack, onWork = () => {} }: SharedGrantsParts): Grants {
  let listener: AccessChangeListener | undefined;
  const grants = createGrants({ store, clock, meter, current: () => listener?.isCurrent() ?? false });
  listener = stack.use(new AccessChangeListener({ url, log, onChange: grants.invalidate, onWork }));
  return grants;
}
