/** Starts a real server in this process, on a random port and an empty database, with its owner's token. */
import { mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { createApp } from "../../src/app.ts";
import { ownerToken } from "../../src/cli/commands.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { readConfig } from "../../src/config.ts";
import type { Store } from "../../src/db/store.ts";
import type { TransportLimits } from "../../src/http/transport-limits.ts";
import type { ConcurrencyLimit } from "../../src/jobs/limit.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createLog, type Log } from "../../src/lib/log.ts";
import { type Client, createGrpcClient, createRestClient, type HttpAnswer, send } from "./clients.ts";
import { freePort } from "./free-port.ts";
import { createDatabaseOn, createMigratedSqlite } from "./migrated-database.ts";

export type StoreName = "sqlite" | "postgres";
export const storeNames: readonly StoreName[] = ["sqlite", "postgres"];

export interface TestServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly port: number;
  readonly dataDir: string;
  /** URL of the database for other programs; empty for SQLite. */
  readonly databaseUrl: string;
  /** Token of the bootstrap owner. */
  readonly token: string;
  readonly orgUid: string;
  readonly rest: Client;
  readonly grpc: Client;
  /** Both clients, for tests that compare the protocols. */
  readonly clients: readonly Client[];
  /** A second connection to the database, to read what no API shows. */
  readonly store: Store;
  /** Sends an HTTP/1.1 request with the owner's token, or with the given headers instead. */
  http(method: string, path: string, body?: string | Buffer, headers?: Record<string, string>): Promise<HttpAnswer>;
}

export interface ServerOptions {
  readonly store?: StoreName;
  /** Settings by their environment names. */
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly limits?: Partial<TransportLimits>;
  /** Holds or counts the slots of the process. */
  readonly callLimit?: ConcurrencyLimit;
  /** The log of the server; by default nothing is logged. */
  readonly log?: Log;
}

export async function startServer({
  store: storeName = "sqlite",
  env = {},
  clock = systemClock,
  limits,
  callLimit,
  log = createLog("silent"),
}: ServerOptions = {}): Promise<TestServer> {
  await using cleanUp = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "holt-test-"));
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true }));
  const HOLT_DATABASE_URL = await createDatabaseOn(storeName);
  const config = readConfig({
    HOLT_LISTEN: `127.0.0.1:${await freePort()}`,
    HOLT_DATA_DIR: dataDir,
    HOLT_DATABASE_URL,
    HOLT_LOG_LEVEL: "silent",
    ...env,
  });
  if (config.databaseUrl === "" && config.dataDir === dataDir) await createMigratedSqlite(dataDir);
  const app = cleanUp.use(await createApp(config, log, { clock, limits, callLimit }));
  const store = cleanUp.use(await openDatabase({ url: config.databaseUrl, dataDir, log }));
  const { baseUrl } = config;
  const rest = cleanUp.use(createRestClient(baseUrl));
  const grpc = cleanUp.use(createGrpcClient(baseUrl));
  const agent = new Agent({ keepAlive: true });
  cleanUp.defer(() => agent.destroy());

  const token = await ownerToken(config);
  const organizations = await rest.call(GroupsService.method.listGroups, { uidp: { inRoot: true } }, token);
  if (!organizations.ok) throw new Error(`the new server does not list its organization: ${organizations.error.message}`);
  const orgUid = organizations.value.groups[0]?.uid ?? "";
  const owned = cleanUp.move();
  return {
    baseUrl,
    port: app.port,
    dataDir: config.dataDir,
    databaseUrl: config.databaseUrl,
    token,
    orgUid,
    rest,
    grpc,
    clients: [rest, grpc],
    store,
    http: (method, path, body, headers = { authorization: `Bearer ${token}` }) => send(agent, baseUrl, method, path, headers, body),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
