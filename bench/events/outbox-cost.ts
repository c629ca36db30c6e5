/** What its event costs a write: the same call to servers that differ in what they do about it. */
import { join } from "node:path";
import { compare, type Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type EventServer, startEventServer } from "./servers.ts";

const WANTED = 0.15;

export async function outboxCost(store: StoreName): Promise<Line[]> {
  await using whole = await startEventServer(store, "whole");
  await using appending = await startEventServer(store, "appending", without("no-delivery"));
  await using neither = await startEventServer(store, "neither", without("no-outbox"));
  const contenders = [whole, appending, neither].map(contender);
  const [ofWhole, ofAppending, ofNeither] = (await compare("http1", contenders)) as [Figures, Figures, Figures];
  const what = `${scale.connections} clients create groups: what is added by`;
  const cost = addedTo(ofNeither, ofAppending);
  return [
    {
      what: `${what} the event, in the transaction`,
      store,
      figure: `${percent(cost)}, ${figureOf(ofNeither, ofAppending)}`,
      target: `≤ ${percent(WANTED)}`,
      holds: cost <= WANTED,
    },
    {
      what: `${what} the event and its publication`,
      store,
      figure: `${percent(addedTo(ofNeither, ofWhole))}, ${figureOf(ofNeither, ofWhole)}`,
    },
  ];
}

function without(what: "no-delivery" | "no-outbox") {
  return { nodeOptions: ["--import", join(import.meta.dirname, `${what}.ts`)] };
}

/** The time that goes into a write with it, against that of one without it. */
function addedTo(without: Figures, withIt: Figures): number {
  return without.perSecond / withIt.perSecond - 1;
}

function figureOf(without: Figures, withIt: Figures): string {
  const ofCpu = percent(withIt.cpuUs / without.cpuUs - 1);
  return `by CPU time ${ofCpu}: ${short(withIt.perSecond)}/s, without it ${short(without.perSecond)}/s`;
}

function contender({ port, pid, token, organization }: EventServer) {
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

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
