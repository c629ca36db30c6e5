/** Measures what version 1 costs more than version 2: lists by id, which serve as its Get, longer lists, and Create. */
import { compare, type Figures } from "../compare.ts";
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";
import { someUids } from "./get.ts";

const MAX_EXTRA = 0.1;

export async function versionOne(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const uids = await someUids(holt);
  const [folder = ""] = holt.contents.teams;
  const group = await makeScratchGroup(holt);
  const gets = (path: string) => uids.map((uid) => holt.request("GET", `${path}${uid}`));
  const get = (path: string) => [holt.request("GET", path)];
  const post = (path: string) => [
    holt.request("POST", `${path}/${group}`, JSON.stringify({ name: "created", description: "By the benchmark" })),
  ];
  try {
    return [
      await extraLine("List by id", store, holt, [gets("/iam/v1/identities?id="), gets("/iam/v2/identities?uidp.ids=")]),
      await extraLine("List of 100 rows", store, holt, [
        get(`/iam/v1/identities?${idsOf(uids.slice(0, 100))}`),
        get(`/iam/v2/identities?page_size=100&${idsOf(uids.slice(0, 100))}`),
      ]),
      await extraLine("List of 1000 rows, and five pages of 200", store, holt, [
        get(`/iam/v1/identities?uidp.descendants_of=${folder}`),
        await pagesOf(holt, `/iam/v2/identities?page_size=200&uidp.descendants_of=${folder}`),
      ]),
      await extraLine("Create of a group", store, holt, [post("/iam/v1/groups"), post("/iam/v2/groups")]),
    ];
  } finally {
    await removeScratchGroup(holt, group);
  }
}

function idsOf(uids: readonly string[]): string {
  return uids.map((uid) => `uidp.ids=${uid}`).join("&");
}

/** The requests for all pages of a list. */
async function pagesOf(holt: Served, path: string): Promise<string[]> {
  const requests: string[] = [];
  for (let token = ""; ; ) {
    const target = `${path}&page_token=${encodeURIComponent(token)}`;
    requests.push(holt.request("GET", target));
    token = (JSON.parse(await holt.fetch("GET", target)) as { nextPageToken?: string }).nextPageToken ?? "";
    if (token === "") return requests;
  }
}

/** @param requests of version 1, and of version 2; both do the same work in one round of all requests */
async function extraLine(measured: string, store: StoreName, holt: Served, requests: readonly (readonly string[])[]): Promise<Line> {
  const { pid, port } = holt.server;
  const { connections } = scale;
  const [v1, v2] = await compare(
    "http1",
    requests.map((each) => ({ pid, load: { port, connections, requests: each } })),
  );
  if (v1 === undefined || v2 === undefined) throw new Error("figures are missing");
  const times = (requests[1]?.length ?? 1) / (requests[0]?.length ?? 1);
  const extra = v1.cpuUs / (v2.cpuUs * times) - 1;
  return {
    measured: `Version 1: ${measured}`,
    store,
    figure: `${figuresOf(v1)}; version 2 ${figuresOf(v2)}: ${(extra * 100).toFixed(1)} % more CPU time`,
    target: `≤ ${MAX_EXTRA * 100} % more`,
    holds: extra <= MAX_EXTRA,
  };
}

function figuresOf({ perSecond, cpuUs }: Figures): string {
  return `${short(perSecond)}/s, ${short(cpuUs)} µs`;
}
