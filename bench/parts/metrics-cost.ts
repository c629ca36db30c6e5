/** Measures what metrics cost a REST Get: the same call to a server with HOLT_METRICS_LISTEN, scraped every five seconds, and one without. */
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { compare, type Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type EventServer, startEventServer } from "../events/servers.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";

const MAX_COST = 0.02;
const SCRAPE_MS = 5000;

export async function metricsCost(store: StoreName): Promise<Line[]> {
  const listen = `127.0.0.1:${await freePort()}`;
  await using measured = await startEventServer(store, "metered", { settings: { HOLT_METRICS_LISTEN: listen } });
  await using unmeasured = await startEventServer(store, "unmetered");
  const scraper = setInterval(() => void fetch(`http://${listen}/metrics`).then((response) => response.text()), SCRAPE_MS);
  const [withMetrics, without] = (await compare("http1", [contender(measured), contender(unmeasured)])) as [Figures, Figures];
  clearInterval(scraper);
  const cost = withMetrics.cpuUs / without.cpuUs - 1;
  const figure =
    `${percent(cost)} by CPU time (${short(withMetrics.cpuUs)} µs, without metrics ${short(without.cpuUs)} µs); ` +
    `${short(withMetrics.perSecond)}/s, without ${short(without.perSecond)}/s`;
  return [{ measured: "Cost of metrics, REST Get", store, figure, target: `≤ ${percent(MAX_COST)}`, holds: cost <= MAX_COST }];
}

function contender({ port, pid, token, organization }: EventServer) {
  const lines = [`GET /iam/v2/groups/${organization} HTTP/1.1`, `host: 127.0.0.1:${port}`, `authorization: Bearer ${token}`];
  const requests = [Buffer.from(`${lines.join("\r\n")}\r\n\r\n`).toString("base64")];
  return { pid, load: { port, connections: scale.connections, requests } };
}

function percent(fraction: number): string {
  return `${(fraction * 100).toFixed(1)} %`;
}
