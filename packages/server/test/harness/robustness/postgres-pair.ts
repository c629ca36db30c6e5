/** Starts a PostgreSQL and a streaming replica, to which every commit is replicated before it is acknowledged. */
import { execFile } from "node:child_process";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { startPostgres, type TestPostgres } from "../postgres.ts";
import { until } from "../wait.ts";

export interface PostgresPair extends AsyncDisposable {
  /** URL of both hosts; the standby is the first. */
  readonly url: string;
  readonly primary: TestPostgres;
  readonly standby: TestPostgres;
  /** Makes the standby the primary. */
  promote(): Promise<void>;
}

export async function startPostgresPair(): Promise<PostgresPair> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "holt-pair-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  // The tests may run as root, and PostgreSQL as another user.
  await promisify(execFile)("chmod", ["777", folder]);
  // Both begin as copies of the same empty database.
  await (await startPostgres({ dir: first })).crash();
  await promisify(execFile)("cp", ["-a", first, second]);
  const primary = stack.use(await startPostgres({ dir: first }));
  const { port } = new URL(primary.url);
  const source = `host=127.0.0.1 port=${port} user=postgres password=password application_name=standby`;
  await appendFile(join(second, "postgresql.conf"), `\nprimary_conninfo = '${source}'\n`);
  await writeFile(join(second, "standby.signal"), "");
  const standby = stack.use(await startPostgres({ dir: second }));
  await until(async () => (await query(primary.url, "select 1 from pg_stat_replication where state = 'streaming'")).length === 1);
  await query(primary.url, "alter system set synchronous_standby_names = 'standby'");
  await query(primary.url, "select pg_reload_conf()");
  const url = new URL(primary.url);
  const owned = stack.move();
  return {
    ...{ primary, standby },
    url: `postgres://postgres:password@${new URL(standby.url).host},${url.host}/postgres?target_session_attrs=read-write`,
    async promote() {
      await query(standby.url, "select pg_promote()");
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export async function query(connectionString: string, sql: string): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
