/** Measures lists, searches, versions and counts of a large catalogue of artifacts. */
import type { StoreName } from "../data/stores.ts";
import { latency } from "../latency.ts";
import type { Line } from "../report.ts";
import { isChosen } from "../scale.ts";
import { serveCatalogue } from "./catalogue.ts";

const LIMIT_MS = 25;
const PAGE_SIZE = 50;

export async function libraryLists(store: StoreName): Promise<Line[]> {
  const holt = await serveCatalogue(store);
  await using _server = holt.server;
  const { artifacts, projects, large } = holt.contents;
  const list = (query: string, ecosystems = "ecosystems=ECOSYSTEM_PYTHON") =>
    `/libraries/v2/artifacts?${ecosystems}&page_size=${PAGE_SIZE}${query}`;
  const both = "ecosystems=ECOSYSTEM_PYTHON&ecosystems=ECOSYSTEM_JAVA";
  const deep = `&skip=${Math.floor(artifacts * 0.8)}`;
  const rare = projects.map(({ name }) => name.split("-").slice(-2).join("-"));
  const measurements: [measured: string, paths: readonly string[]][] = [
    [`${PAGE_SIZE} of ${artifacts} artifacts, Python`, [list("")]],
    [`${PAGE_SIZE} of ${artifacts} artifacts, Python and Java`, [list("", both)]],
    [`${PAGE_SIZE} of ${artifacts} artifacts, Java`, [list("", "ecosystems=ECOSYSTEM_JAVA")]],
    [`${PAGE_SIZE} artifacts by time`, [list("&order_by=update_time desc"), list("&order_by=create_time", both)].map(encodeURI)],
    [`${PAGE_SIZE} artifacts, skip 80 %`, [list(deep), list(deep, both)]],
    ["Search, one match", rare.map((name) => list(`&query=${name}`))],
    ["Search, many matches", ["api", "billing", "e", "ay", "work"].map((query) => list(`&query=${query}`))],
    ["Search, many matches, by time", ["api", "billing"].map((query) => encodeURI(list(`&query=${query}&order_by=update_time desc`)))],
    ["Search, no matches", ["zzz", "billing-payments", "xq", "aaa-edge"].map((query) => list(`&query=${query}`))],
    ["Remediated or CUDA artifacts", [list("&remediated=true"), list("&cuda_version=12.1"), list("&cuda_version=9.9")]],
    ["Remediated or CUDA artifacts, with search", [list("&remediated=true&query=api"), list("&cuda_version=12.1&query=mail")]],
    ["Counts of both ecosystems", [`/libraries/v2/artifacts/count?${both}`]],
    ["Versions of one artifact", projects.map(({ uid }) => versionsOf(uid))],
    [
      `${PAGE_SIZE} of ${large.versions} versions of one artifact`,
      [versionsOf(large.uid), `${versionsOf(large.uid)}&skip=${large.versions / 2}`],
    ],
  ];
  const lines: Line[] = [];
  for (const [measured, paths] of measurements) {
    if (!isChosen(measured)) continue;
    const requests = paths.map((path) => holt.request("GET", path));
    lines.push(await latency(measured, holt, requests, LIMIT_MS));
  }
  return lines;
}

function versionsOf(uid: string): string {
  return `/libraries/v2/artifacts/${encodeURIComponent(uid)}/versions?page_size=${PAGE_SIZE}`;
}
