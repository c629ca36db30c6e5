/** Runs PgBouncer, if it is installed, in front of a database. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../free-port.ts";
import { startProgram } from "../holtd.ts";
import { until } from "../wait.ts";

export interface PgBouncer extends AsyncDisposable {
  /** URL of the database through PgBouncer. */
  readonly url: string;
}

/** @param databaseUrl address of a PostgreSQL whose user has the password of the URL */
export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "holt-pgbouncer-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const listen = await freePort();
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: listen,
    auth_type: "plain",
    auth_file: join(folder, "users.txt"),
    pool_mode: "session",
    default_pool_size: 60,
    unix_socket_dir: "",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const database = `host=${hostname} port=${port} user=${username} password=${password} dbname=${pathname.slice(1)}`;
  const config = join(folder, "pgbouncer.ini");
  await writeFile(config, `[databases]\n* = ${database}\n[pgbouncer]\n${lines.join("\n")}\n`, { mode: 0o644 });
  await writeFile(settings.auth_file, `"${username}" "${password}"\n`, { mode: 0o644 });
  // PgBouncer refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  await chmod(folder, 0o755);
  const child = stack.use(startProgram("pgbouncer", isRoot ? ["-u", "nobody", config] : [config], {}));
  const url = `postgres://${username}:${password}@127.0.0.1:${listen}${pathname}`;
  let hasEnded = false;
  void child.ended.then(() => {
    hasEnded = true;
  });
  await until(async () => {
    if (hasEnded) throw new Error(`PgBouncer ended:\n${child.stderr()}`);
    return answers(url);
  });
  const owned = stack.move();
  return { url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
