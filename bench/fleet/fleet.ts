/**
 * Measures 1, 2 and 4 servers on one PostgreSQL: reads, writes and pulls. On a machine with few processors the servers,
 * the database and the load compete, so the CPU time per answer and the waits in the database say more than the rate.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "../../packages/server/test/harness/postgres.ts";
import { basic, createRegistryClient } from "../../packages/server/test/harness/registry/registry-client.ts";
import type { StoreName } from "../data/stores.ts";
import type { LoadResult } from "../load/worker.ts";
import { cpuSeconds, type HoltServer, makeLoad, startHolt } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";

const SIZES = [1, 2, 4];
const SAMPLE_MS = 20;
const REPOSITORY = "my-org/app";

/** The cost of one kind of call. */
interface Cost {
  readonly perSecond: number;
  /** CPU time of a server per answer, in microseconds. */
  readonly serverUs: number;
  /** CPU time of PostgreSQL per answer, in microseconds. */
  readonly databaseUs: number;
  /** The most frequent waits of database sessions, each with its share of all samples of busy sessions. */
  readonly waits: readonly string[];
}

interface Fleet {
  readonly servers: readonly HoltServer[];
  readonly client: pg.Client;
}

type Requests = (server: HoltServer) => Promise<readonly string[]>;

export async function fleetParts(store: StoreName): Promise<Line[]> {
  if (store === "sqlite") return [];
  const lines: Line[] = [];
  const first = new Map<string, Cost>();
  for (const size of SIZES) {
    await using stack = new AsyncDisposableStack();
    const fleet = await startServers(size, stack);
    for (const [kind, requestsOf] of await kinds(fleet)) {
      const cost = await measure(fleet, requestsOf);
      const one = first.get(kind) ?? cost;
      first.set(kind, one);
      const scaling = (one.serverUs + one.databaseUs) / (cost.serverUs + cost.databaseUs);
      const figure = `${short(cost.perSecond)}/s; CPU time per answer: server ${short(cost.serverUs)} µs, PostgreSQL ${short(cost.databaseUs)} µs; waits: ${cost.waits.join(", ") || "none"}`;
      lines.push({
        ...{ measured: `${kind}, ${size} server${size > 1 ? "s" : ""}`, store, figure },
        ...(kind === "reads" && size > 1 && { target: "CPU time ≤ 1/0.9 of one server's", holds: scaling >= 0.9 }),
      });
    }
  }
  return lines;
}

async function startServers(size: number, stack: AsyncDisposableStack): Promise<Fleet> {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-fleet-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgres = stack.use(await startPostgres({ durable: true }));
  const settings = { HOLT_BASE_URL: "http://127.0.0.1:9", HOLT_DATABASE_POOL_SIZE: "10", HOLT_LOG_LEVEL: "warn" };
  const servers: HoltServer[] = [];
  for (let i = 0; i < size; i++) servers.push(stack.use(await startHolt({ url: postgres.url, dataDir }, { settings })));
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  stack.defer(() => client.end());
  return { servers, client };
}

async function kinds({ servers }: Fleet): Promise<readonly (readonly [string, Requests])[]> {
  const first = servers[0]!;
  const url = `http://127.0.0.1:${first.port}`;
  const headers = { authorization: `Bearer ${first.token}` };
  const listed = (await (await fetch(`${url}/iam/v2/groups?uidp.in_root=true`, { headers })).json()) as { groups: { uid: string }[] };
  const org = listed.groups[0]!.uid;
  using registry = createRegistryClient(url, basic("_token", first.token));
  const { digest } = await registry.image(REPOSITORY, "latest");
  const pull = basic("_token", first.token);
  return [
    ["reads", async (server) => [requestTo(server, "GET", `/iam/v2/groups/${org}`)]],
    ["pulls of a manifest", async (server) => [requestTo(server, "GET", `/v2/${REPOSITORY}/manifests/${digest}`, { authorization: pull })]],
    ["writes", async (server) => [requestTo(server, "POST", `/iam/v2/groups/${org}`, headers, '{"name":"created"}')]],
  ];
}

function requestTo({ port, token }: HoltServer, method: string, path: string, given: Record<string, string> = {}, body = ""): string {
  const headers = { host: `127.0.0.1:${port}`, authorization: `Bearer ${token}`, ...given };
  const length = body === "" ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
  const lines = Object.entries({ ...headers, ...length }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`).toString("base64");
}

/** Loads all servers at the same time with as many connections in total, whatever their number. */
async function measure({ servers, client }: Fleet, requestsOf: Requests): Promise<Cost> {
  const { durationMs } = scale.round;
  const connections = Math.ceil(scale.connections / servers.length);
  const specs = await Promise.all(
    servers.map(async (server) => ({ port: server.port, connections, requests: await requestsOf(server), warmUpMs: 0, durationMs })),
  );
  const load = () => Promise.all(specs.map((spec) => makeLoad("http1", spec)));
  // Each server compiles its hot code first, whatever their number.
  await load();
  const pids = servers.map(({ pid }) => pid);
  const sessions = await sessionsOf(client);
  const before = { server: sumOfCpu(pids), database: sumOfCpu(sessions) };
  const waits = sampleWaits(client);
  const results: LoadResult[] = await load();
  const perSecond = results.reduce((sum, result) => sum + result.perSecond, 0);
  const answers = (perSecond * durationMs) / 1000;
  const us = (seconds: number) => (seconds / answers) * 1e6;
  // Sessions that began meanwhile used no CPU time before.
  const now = await sessionsOf(client);
  const cost = { perSecond, serverUs: us(sumOfCpu(pids) - before.server), databaseUs: us(sumOfCpu(now) - before.database) };
  return { ...cost, waits: await waits.end() };
}

const sumOfCpu = (pids: readonly number[]) => pids.map(cpuSeconds).reduce((sum, seconds) => sum + (seconds || 0), 0);

async function sessionsOf(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>("select pid from pg_stat_activity where pid <> pg_backend_pid()");
  return rows.map(({ pid }) => pid);
}

const WAITS = `select coalesce(wait_event_type || ' ' || wait_event, 'CPU') as wait,
    regexp_replace(left(query, 60), '\\s+', ' ', 'g') as query
  from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and application_name = 'holt'`;

/** Counts what busy sessions wait for. */
function sampleWaits(client: pg.Client) {
  const counts = new Map<string, number>();
  let total = 0;
  let isOver = false;
  async function sample(): Promise<void> {
    while (!isOver) {
      for (const { wait, query } of (await client.query<{ wait: string; query: string }>(WAITS)).rows) {
        const key = wait === "CPU" ? wait : `${wait} (${query})`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
        total++;
      }
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    }
  }
  const running = sample();
  return {
    async end(): Promise<string[]> {
      isOver = true;
      await running;
      const sorted = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
      return sorted.map(([key, count]) => `${Math.round((100 * count) / total)} % ${key}`);
    },
  };
}
