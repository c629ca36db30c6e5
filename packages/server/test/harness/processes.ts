/** Runs holtd with HOLT_PROCESSES on a PostgreSQL of its own, and calls each of its processes. */
import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { send } from "./clients.ts";
import { get, printedToken, type RunningServer, type Settings, startHoltd, temporaryFolder } from "./holtd.ts";
import { metricsAddress, metricValue } from "./metrics.ts";
import { createMigratedDatabase } from "./migrated-database.ts";
import { until } from "./wait.ts";

export interface ProcessesFixture extends AsyncDisposable {
  readonly server: RunningServer;
  readonly port: number;
  readonly token: string;
  readonly orgUid: string;
  /** The settings of the server. */
  readonly settings: Settings;
  scrape(): Promise<string>;
  /** A POST with a JSON body as the owner. @throws unless it is accepted */
  post(path: string, body: object): Promise<{ readonly uid: string }>;
}

/** A connection that leads to one process. */
export interface Line extends Disposable {
  /** Number of the process. */
  readonly process: number;
  /** @returns the status of the answer */
  call(method: string, path: string, token: string): Promise<number>;
}

/** Resolves when all processes serve. @param node the Node that runs them */
export async function startProcesses(count: number, given: Settings = {}, node?: string): Promise<ProcessesFixture> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const metrics = await metricsAddress();
  const settings = {
    HOLT_DATABASE_URL: await createMigratedDatabase(),
    HOLT_DATA_DIR: folder.path,
    HOLT_PROCESSES: String(count),
    HOLT_DATABASE_POOL_SIZE: "3",
    HOLT_METRICS_LISTEN: metrics.listen,
    HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    ...given,
  };
  const server = stack.use(await startHoltd(settings, node));
  const { port, baseUrl } = server;
  await until(async () => metricValue(await metrics.scrape(), "holt_processes_serving") === count);
  const token = await printedToken({ ...settings, HOLT_LISTEN: `127.0.0.1:${port}` });
  const { json } = await get(baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
  const orgUid = (json as { groups: { uid: string }[] }).groups[0]?.uid ?? "";
  const owned = stack.move();
  return {
    ...{ server, port, token, orgUid, settings, scrape: metrics.scrape },
    async post(path, body) {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${text}`);
      return JSON.parse(text) as { uid: string };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Connects until each process has a connection. @returns one for each, by the number of the process */
export async function lineToEach(fixture: ProcessesFixture, count: number): Promise<readonly Line[]> {
  const lines = new Map<number, Line>();
  while (lines.size < count) {
    const line = await connectLine(fixture);
    lines.get(line.process)?.[Symbol.dispose]();
    lines.set(line.process, line);
  }
  return [...lines.values()].sort((a, b) => a.process - b.process);
}

async function connectLine({ server, token }: ProcessesFixture): Promise<Line> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const call = async (method: string, path: string, by: string, headers: Record<string, string> = {}) =>
    (await send(agent, server.baseUrl, method, path, { ...headers, authorization: `Bearer ${by}` })).status;
  const requestId = randomUUID();
  await call("GET", "/iam/v2/groups?uidp.in_root=true", token, { "x-request-id": requestId });
  const line = () => logLines(server).find((entry) => entry.requestId === requestId);
  await until(() => line() !== undefined);
  return { process: line()!.process ?? 0, call: (method, path, by) => call(method, path, by), [Symbol.dispose]: () => agent.destroy() };
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly process?: number;
  readonly pid?: number;
  readonly requestId?: string;
}

/** The log so far. @throws for a line that is not JSON */
export function logLines(server: Pick<RunningServer, "stderr">): LogLine[] {
  return server
    .stderr()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine);
}

/** Process ids in the order in which the processes became ready. */
export function readyPids(server: RunningServer): number[] {
  return logLines(server).flatMap(({ msg, pid }) => (msg === "a server process is ready" && pid !== undefined ? [pid] : []));
}
