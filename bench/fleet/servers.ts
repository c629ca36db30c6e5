/** Starts several servers on one new PostgreSQL. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "../../packages/server/test/harness/postgres.ts";
import { cpuSeconds, type HoltServer, startHolt } from "../process.ts";

export interface Fleet extends AsyncDisposable {
  readonly servers: readonly [HoltServer, ...HoltServer[]];
  /** The database and the folder that the servers share. */
  readonly target: { readonly url: string; readonly dataDir: string };
  readonly client: pg.Client;
  readonly organization: string;
  /** Sends a POST with the owner's token to the first server. @returns the answer */
  post(path: string, body: object): Promise<{ readonly uid: string }>;
}

const BASE_URL = "http://127.0.0.1:9";

export async function startFleet(size: number): Promise<Fleet> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "holt-fleet-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgres = stack.use(await startPostgres({ durable: true }));
  const target = { url: postgres.url, dataDir };
  const settings = { HOLT_BASE_URL: BASE_URL, HOLT_DATABASE_POOL_SIZE: "10", HOLT_LOG_LEVEL: "warn" };
  const first = stack.use(await startHolt(target, { settings }));
  const others: HoltServer[] = [];
  for (let i = 1; i < size; i++) others.push(stack.use(await startHolt(target, { settings })));
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  stack.defer(() => client.end());
  const url = `http://127.0.0.1:${first.port}`;
  const headers = { authorization: `Bearer ${first.token}`, "content-type": "application/json" };
  const listed = (await (await fetch(`${url}/iam/v2/groups?uidp.in_root=true`, { headers })).json()) as { groups: { uid: string }[] };
  const owned = stack.move();
  return {
    ...{ servers: [first, ...others], target, client, organization: listed.groups[0]?.uid ?? "" },
    async post(path, body) {
      const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { uid: string };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** CPU seconds that all servers have used. */
export function serverSeconds({ servers }: Fleet): number {
  return servers.map(({ pid }) => cpuSeconds(pid)).reduce((sum, seconds) => sum + seconds, 0);
}

/** CPU seconds that the present sessions of PostgreSQL have used. Workers of autovacuum end, and the sum would go back. */
export async function databaseSeconds({ client }: Fleet): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where pid <> pg_backend_pid() and backend_type <> 'autovacuum worker'",
  );
  return rows.map(({ pid }) => cpuSeconds(pid)).reduce((sum, seconds) => sum + (seconds || 0), 0);
}
