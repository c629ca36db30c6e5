/**
 * Measures HOLT_PROCESSES: one server process beside two with their supervisor, each on a PostgreSQL database of its own. On a machine
 * with few processors the processes, the database and the load compete, so the CPU time per answer decides.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { metricValue } from "../../packages/server/test/harness/metrics.ts";
import { compare, type Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type EventServer, startEventServer } from "../events/servers.ts";
import { cpuSeconds, makeLoad } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";

/** Throughput of two processes, in that of one. */
const MIN_SPEEDUP = 1.7;
const HEATING_ROUNDS = 4;

export async function processesParts(store: StoreName): Promise<Line[]> {
  if (store === "sqlite") return [];
  await using one = await startEventServer(store, "one_process", { settings: { HOLT_METRICS_LISTEN: `127.0.0.1:${await freePort()}` } });
  await using two = await startProcesses(store, 2);
  const lines: Line[] = [];
  for (const [kind, requestOf] of kinds) {
    const contenders = [contender(one, requestOf), contender(two, requestOf)];
    // Two processes compile their hot code twice, each with half of the answers.
    for (const { load } of contenders)
      await makeLoad("http1", { ...load, warmUpMs: 0, durationMs: HEATING_ROUNDS * scale.round.durationMs });
    const before = cpuSeconds(two.pid);
    const [ofOne, ofTwo] = (await compare("http1", contenders)) as [Figures, Figures];
    const supervisor = cpuSeconds(two.pid) - before;
    const speedup = (2 * ofOne.cpuUs) / ofTwo.cpuUs;
    const figure =
      `CPU time per answer ${short(ofOne.cpuUs)} µs and ${short(ofTwo.cpuUs)} µs, so ${short(speedup)} × with a core for each; ` +
      `here ${short(ofOne.perSecond)}/s and ${short(ofTwo.perSecond)}/s; the supervisor used ${short(supervisor)} s`;
    lines.push({ measured: `${kind}, 1 and 2 processes`, store, figure, target: `≥ ${MIN_SPEEDUP} ×`, holds: speedup >= MIN_SPEEDUP });
  }
  return lines;
}

const kinds: readonly (readonly [string, (server: EventServer) => string])[] = [
  ["REST Get", (server) => requestOf(server, "GET")],
  ["REST Create", (server) => requestOf(server, "POST", '{"name":"created"}')],
];

async function startProcesses(store: StoreName, count: number): Promise<EventServer> {
  const listen = `127.0.0.1:${await freePort()}`;
  const server = await startEventServer(store, "processes", {
    settings: { HOLT_PROCESSES: String(count), HOLT_METRICS_LISTEN: listen },
  });
  const scrape = async () => (await fetch(`http://${listen}/metrics`)).text();
  while (metricValue(await scrape(), "holt_processes_serving") !== count) await sleep(100);
  return server;
}

function contender(server: EventServer, requestOf: (server: EventServer) => string) {
  const { port, pid } = server;
  return { pid, hasChildren: true, load: { port, connections: scale.connections, requests: [requestOf(server)] } };
}

function requestOf({ port, token, organization }: EventServer, method: string, body = ""): string {
  const lines = [
    `${method} /iam/v2/groups/${organization} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    `content-length: ${body.length}`,
    ...(body === "" ? [] : ["content-type: application/json"]),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`).toString("base64");
}
