/** Measures the cost of the event of a write: the same call to servers with and without the outbox and the delivery. */
import { join } from "node:path";
import { compare, type Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type EventServer, startEventServer } from "./servers.ts";

const MAX_COST = 0.15;

export async function outboxCost(store: StoreName): Promise<Line[]> {
  await using complete = await startEventServer(store, "complete");
  await using appending = await startEventServer(store, "appending", without("no-delivery"));
  await using eventless = await startEventServer(store, "eventless", without("no-outbox"));
  const contenders = [complete, appending, eventless].map(contender);
  const [completeFigures, appendingFigures, eventlessFigures] = (await compare("http1", contenders)) as [Figures, Figures, Figures];
  const load = `${scale.connections} clients creating groups`;
  const cost = relativeCost(eventlessFigures, appendingFigures);
  return [
    {
      measured: `Cost of the event in the transaction, ${load}`,
      store,
      figure: `${percent(cost)}, ${figureOf(eventlessFigures, appendingFigures)}`,
      target: `≤ ${percent(MAX_COST)}`,
      holds: cost <= MAX_COST,
    },
    {
      measured: `Cost of the event and its delivery, ${load}`,
      store,
      figure: `${percent(relativeCost(eventlessFigures, completeFigures))}, ${figureOf(eventlessFigures, completeFigures)}`,
    },
  ];
}

/** Options of a server without a part of its code. */
export function without(module: "no-delivery" | "no-outbox" | "no-audit" | "no-sealing") {
  return { nodeOptions: ["--import", join(import.meta.dirname, `${module}.ts`)] };
}

/** Additional time of a write with the event, relative to a write without it. */
export function relativeCost(without: Figures, withIt: Figures): number {
  return without.perSecond / withIt.perSecond - 1;
}

export function figureOf(without: Figures, withIt: Figures): string {
  const cpuCost = percent(withIt.cpuUs / without.cpuUs - 1);
  return `by CPU time ${cpuCost}: ${short(withIt.perSecond)}/s, without it ${short(without.perSecond)}/s`;
}

export function contender({ port, pid, token, organization }: EventServer) {
  const body = JSON.stringify({ name: "created", description: "By the benchmark" });
  const lines = [
    `POST /iam/v2/groups/${organization} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  const requests = [Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`).toString("base64")];
  return { pid, load: { port, connections: scale.connections, requests } };
}

export function percent(fraction: number): string {
  return `${(fraction * 100).toFixed(1)} %`;
}
