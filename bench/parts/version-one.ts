/**
 * Measures the server's CPU time per call of version 1, compared with version 2: lists by id, which serve as its Get, longer lists, and
 * Create.
 */
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { cpuSeconds } from "../process.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";
import { someUids } from "./get.ts";

const MAX_EXTRA = 0.1;
const CONCURRENT = 8;

/** Does the work once. `number` is different in each run. */
type Work = (number: number) => Promise<unknown>;

export async function versionOne(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const uids = await someUids(holt);
  const [team] = holt.contents.teams;
  const group = await makeScratchGroup(holt);
  const get = (path: string) => holt.fetch("GET", path);
  const create = (path: string) => () =>
    holt.fetch("POST", `${path}/${group}`, JSON.stringify({ name: "created", description: "A group" }));
  const uidOf = (number: number) => uids[number % uids.length] ?? "";
  const some = uids.slice(0, 100).map((uid) => `uidp.ids=${uid}`);
  try {
    return [
      await extraLine("List by id", store, holt, {
        v1: (number) => get(`/iam/v1/identities?id=${uidOf(number)}`),
        v2: (number) => get(`/iam/v2/identities?uidp.ids=${uidOf(number)}`),
        calls: 2000,
        hasTarget: true,
      }),
      await extraLine("List of 100 rows", store, holt, {
        v1: () => get(`/iam/v1/identities?${some.join("&")}`),
        v2: () => get(`/iam/v2/identities?page_size=100&${some.join("&")}`),
        calls: 500,
        hasTarget: true,
      }),
      ...(team === undefined
        ? []
        : [
            await extraLine("List of 1000 rows, and five pages of 200", store, holt, {
              v1: () => get(`/iam/v1/identities?uidp.descendants_of=${team}`),
              v2: () => readPages(holt, `/iam/v2/identities?page_size=200&uidp.descendants_of=${team}`),
              calls: 100,
              hasTarget: false,
            }),
          ]),
      await extraLine("Create of a group", store, holt, {
        v1: create("/iam/v1/groups"),
        v2: create("/iam/v2/groups"),
        calls: 1000,
        hasTarget: true,
      }),
    ];
  } finally {
    await removeScratchGroup(holt, group);
  }
}

async function readPages(holt: Served, path: string): Promise<void> {
  for (let token = ""; ; ) {
    const page = JSON.parse(await holt.fetch("GET", `${path}&page_token=${encodeURIComponent(token)}`)) as { nextPageToken?: string };
    token = page.nextPageToken ?? "";
    if (token === "") return;
  }
}

interface Comparison {
  readonly v1: Work;
  readonly v2: Work;
  /** Runs of each in a round. */
  readonly calls: number;
  /** Lists that are longer than a page of version 2 have no target. */
  readonly hasTarget: boolean;
}

async function extraLine(measured: string, store: StoreName, holt: Served, { v1, v2, calls, hasTarget }: Comparison): Promise<Line> {
  const rounds: number[][] = [];
  // The first round warms up.
  for (let round = 0; round <= scale.rounds; round++) {
    const figures = [await cpuUsOf(holt, v1, calls), await cpuUsOf(holt, v2, calls)];
    if (round > 0) rounds.push(figures);
  }
  const [first, second] = [0, 1].map((index) => median(rounds.map((figures) => figures[index] ?? 0))) as [number, number];
  const extra = first / second - 1;
  return {
    measured: `Version 1: ${measured}`,
    store,
    figure: `${short(first)} µs; version 2 ${short(second)} µs: ${(extra * 100).toFixed(1)} % more`,
    ...(hasTarget && { target: `≤ ${MAX_EXTRA * 100} % more`, holds: extra <= MAX_EXTRA }),
  };
}

/** The server's CPU time per run. */
async function cpuUsOf({ server }: Served, work: Work, runs: number): Promise<number> {
  const before = cpuSeconds(server.pid);
  let next = 0;
  const client = async () => {
    while (next < runs) await work(next++);
  };
  await Promise.all(Array.from({ length: CONCURRENT }, client));
  return ((cpuSeconds(server.pid) - before) / runs) * 1e6;
}
