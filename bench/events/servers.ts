/** An empty Holt with subscriptions, and the sink beside it. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Target } from "../data/fill.ts";
import { databaseFor, type StoreName } from "../data/stores.ts";
import { type HoltOptions, type HoltServer, startHolt, stop } from "../process.ts";
import { makeFolder } from "../registry/servers.ts";
import type { SinkReport } from "./sink.ts";

export interface EventServer extends HoltServer {
  readonly target: Target;
  readonly organization: string;
  /** With the owner's token; answers the uid of what was made. */
  make(path: string, body: object): Promise<string>;
}

/** @param name of its database; servers that are compared have one each */
export async function startEventServer(store: StoreName, name: string, options: HoltOptions = {}): Promise<EventServer> {
  await using cleanUp = new AsyncDisposableStack();
  const data = cleanUp.use(await makeFolder(name));
  const target = { dataDir: data.path, url: store === "postgres" ? await databaseFor(`bench_${name}`, true) : "" };
  const server = cleanUp.use(await startHolt(target, options));
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const answer = await fetch(`${baseUrl}/iam/v2/groups?uidp.in_root=true`, { headers });
  const { groups } = (await answer.json()) as { groups: { uid: string }[] };
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
  /** Counts anew. */
  forget(): Promise<void>;
  /** Until nothing has come for a second. */
  untilQuiet(): Promise<void>;
  /** Until so many have come since it was told to forget. @throws where nothing comes for a minute */
  untilCount(count: number): Promise<SinkReport>;
}

export async function startSink(): Promise<Sink> {
  const child = fork(join(import.meta.dirname, "sink.ts"));
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  async function ask(question: "report" | "forget"): Promise<SinkReport> {
    const answered = once(child, "message");
    child.send(question);
    const [{ report }] = (await answered) as [{ report: SinkReport }];
    return report;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    report: () => ask("report"),
    forget: async () => void (await ask("forget")),
    async untilQuiet() {
      for (let last = -1, since = performance.now(); performance.now() - since < 1000; await sleep(50)) {
        const { count } = await ask("report");
        if (count !== last) [last, since] = [count, performance.now()];
      }
    },
    async untilCount(count) {
      const delays: number[] = [];
      for (let last = -1, since = performance.now(); ; await sleep(20)) {
        const report = await ask("report");
        delays.push(...report.delays);
        if (report.count >= count) return { ...report, delays };
        if (report.count !== last) [last, since] = [report.count, performance.now()];
        if (performance.now() - since > 60_000) throw new Error(`${report.count} of ${count} deliveries came`);
      }
    },
    [Symbol.asyncDispose]: () => stop(child),
  };
}
