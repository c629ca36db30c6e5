/**
 * Runs several servers that share nothing but a PostgreSQL and a bucket. Proxies can delay, cut and silence each link
 * between a server and the two.
 */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { S3_CREDENTIALS, type S3Server, startS3Server } from "../blobs/s3-server.ts";
import { freePort } from "../free-port.ts";
import { get, printedToken, type RunningServer, type Settings, startHoltd, temporaryFolder } from "../holtd.ts";
import { createDatabase } from "../postgres.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { startTcpProxy, type TcpProxy, throughProxy } from "./tcp-proxy.ts";

/** One server of the fleet. */
export interface Member {
  /** Its own address. */
  readonly url: string;
  readonly database: TcpProxy;
  readonly storage: TcpProxy;
  readonly server: RunningServer;
  /** Starts a server that has ended, with the same address and settings. */
  restart(): Promise<void>;
}

export interface Fleet extends AsyncDisposable {
  readonly members: readonly Member[];
  /** The public URL: each request goes to the next server. */
  readonly balancer: Balancer;
  readonly s3: S3Server;
  readonly token: string;
  readonly orgUid: string;
  /** Reads the database without a server. */
  query(sql: string): Promise<Record<string, string | number | null>[]>;
  /** A POST with a JSON body as the owner. @throws unless it is accepted */
  post(path: string, body: object): Promise<{ readonly uid: string }>;
}

export interface FleetOptions {
  readonly size?: number;
  readonly env?: Settings;
  /** The port of the balancer, for settings that contain the public URL. */
  readonly port?: number;
}

export async function startFleet({ size = 3, env = {}, port }: FleetOptions = {}): Promise<Fleet> {
  await using stack = new AsyncDisposableStack();
  const balancer = stack.use(await startBalancer(port ?? (await freePort())));
  const s3 = stack.use(await startS3Server());
  const databaseUrl = await createDatabase();
  const shared: Settings = {
    ...s3.env,
    AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    HOLT_BASE_URL: balancer.url,
    HOLT_SECRETS_KEY: randomBytes(32).toString("base64"),
    HOLT_DATABASE_POOL_SIZE: "5",
    HOLT_LOG_LEVEL: "error",
    HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    ...env,
  };
  const members: Member[] = [];
  for (let i = 0; i < size; i++) members.push(await startMember(shared, databaseUrl, s3.url, stack));
  balancer.targets = members.map(({ url }) => url);
  const folder = stack.use(await temporaryFolder());
  const token = await printedToken({ ...shared, HOLT_DATABASE_URL: databaseUrl, HOLT_DATA_DIR: folder.path });
  const { json } = await get(balancer.url, "/iam/v2/groups?uidp.in_root=true", token);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  stack.defer(() => client.end());
  const owned = stack.move();
  return {
    ...{ members, balancer, s3, token },
    orgUid: (json as { groups: { uid: string }[] }).groups[0]?.uid ?? "",
    query: async (sql) => (await client.query(sql)).rows,
    async post(path, body) {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(balancer.url + path, { method: "POST", headers, body: JSON.stringify(body) });
      if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { uid: string };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Each server has a data folder of its own. */
async function startMember(shared: Settings, databaseUrl: string, storageUrl: string, stack: AsyncDisposableStack): Promise<Member> {
  const folder = stack.use(await temporaryFolder());
  const database = stack.use(await startTcpProxy(databaseUrl));
  const storage = stack.use(await startTcpProxy(storageUrl));
  const listen = `127.0.0.1:${await freePort()}`;
  const settings = {
    ...shared,
    HOLT_DATA_DIR: folder.path,
    HOLT_DATABASE_URL: throughProxy(databaseUrl, database),
    HOLT_S3_ENDPOINT: `http://127.0.0.1:${storage.port}`,
    HOLT_LISTEN: listen,
  };
  let server = await startHoltd(settings);
  stack.defer(() => server[Symbol.asyncDispose]());
  return {
    ...{ url: `http://${listen}`, database, storage },
    get server() {
      return server;
    },
    async restart() {
      server = await startHoltd(settings);
    },
  };
}
