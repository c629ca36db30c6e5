/** Starts an empty Holt server and the sink of its webhooks. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Target } from "../data/fill.ts";
import { databaseOn, type StoreName } from "../data/stores.ts";
import { type HoltOptions, type HoltServer, startHolt, stop } from "../process.ts";
import { makeFolder } from "../registry/servers.ts";
import type { SinkReport } from "./sink.ts";

export interface EventServer extends HoltServer {
  readonly target: Target;
  readonly organization: string;
  /** Creates a resource with the owner's token and returns its uid. */
  make(path: string, body: object): Promise<string>;
}

/** @param name name of the database; each of several servers needs its own */
export async function startEventServer(store: StoreName, name: string, options: HoltOptions = {}): Promise<EventServer> {
  await using cleanUp = new AsyncDisposableStack();
  const data = cleanUp.use(await makeFolder(name));
  const target = { dataDir: data.path, url: await databaseOn(store, `bench_${name}`) };
  const server = cleanUp.use(await startHolt(target, options));
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const response = await fetch(`${baseUrl}/iam/v2/groups?uidp.in_root=true`, { headers });
  const { groups } = (await response.json()) as { groups: { uid: string }[] };
  const owned = cleanUp.move();
  return {
    ...server,
    target,
    organization: groups[0]?.uid ?? "",
    async make(path, body) {
      const made = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
      if (!made.ok) throw new Error(`${path}: ${made.status} ${await made.text()}`);
      return ((await made.json()) as { uid: string }).uid;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export interface Sink extends AsyncDisposable {
  readonly url: string;
  report(): Promise<SinkReport>;
  /** Resets the counters. */
  reset(): Promise<void>;
  /** Resolves when nothing has arrived for one second. */
  untilQuiet(): Promise<void>;
  /** Resolves when `count` deliveries have arrived since the last reset. @throws if nothing arrives for one minute */
  untilCount(count: number): Promise<SinkReport>;
}

export async function startSink(): Promise<Sink> {
  const child = fork(join(import.meta.dirname, "sink.ts"));
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  async function ask(question: "report" | "reset"): Promise<SinkReport> {
    const response = once(child, "message");
    child.send(question);
    const [{ report }] = (await response) as [{ report: SinkReport }];
    return report;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    report: () => ask("report"),
    reset: async () => void (await ask("reset")),
    async untilQuiet() {
      for (let last = -1, since = performance.now(); performance.now() - since < 1000; await sleep(50)) {
        const { count } = await ask("report");
        if (count === last) continue;
        last = count;
        since = performance.now();
      }
    },
    async untilCount(count) {
      const delays: number[] = [];
      for (let last = -1, since = performance.now(); ; await sleep(20)) {
        const report = await ask("report");
        delays.push(...report.delays);
        if (report.count >= count) return { ...report, delays };
        if (report.count !== last) {
          last = report.count;
          since = performance.now();
        }
        if (performance.now() - since > 60_000) throw new Error(`only ${report.count} of ${count} deliveries arrived`);
      }
    },
    [Symbol.asyncDispose]: () => stop(child),
  };
}
