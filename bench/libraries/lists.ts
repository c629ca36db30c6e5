/** The catalogue of many artifacts: lists, searches, versions, counts. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { serveCatalogue } from "./catalogue.ts";
import { latency } from "./latency.ts";

const LIMIT_MS = 25;
const PAGE = 50;

export async function libraryLists(store: StoreName): Promise<Line[]> {
  const holt = await serveCatalogue(store);
  await using _server = holt.server;
  const { artifacts, projects, large } = holt.contents;
  const list = (query: string, ecosystems = "ecosystems=ECOSYSTEM_PYTHON") =>
    `/libraries/v2/artifacts?${ecosystems}&page_size=${PAGE}${query}`;
  const both = "ecosystems=ECOSYSTEM_PYTHON&ecosystems=ECOSYSTEM_JAVA";
  const deep = `&skip=${Math.floor(artifacts * 0.8)}`;
  const rare = projects.map(({ name }) => name.split("-").slice(-2).join("-"));
  const measurements: [what: string, paths: readonly string[]][] = [
    [`${PAGE} of ${artifacts} artifacts, Python's`, [list("")]],
    [`${PAGE} of ${artifacts} artifacts, of both`, [list("", both)]],
    [`${PAGE} of ${artifacts} artifacts, Java's`, [list("", "ecosystems=ECOSYSTEM_JAVA")]],
    ["the same by time", [list("&order_by=update_time desc"), list("&order_by=create_time", both)].map(encodeURI)],
    ["the same, four fifths on", [list(deep), list(deep, both)]],
    ["Search for one of them", rare.map((name) => list(`&query=${name}`))],
    ["Search for a part of many names", ["api", "billing", "e", "ay", "work"].map((text) => list(`&query=${text}`))],
    ["Search for a part of many, by time", ["api", "billing"].map((text) => encodeURI(list(`&query=${text}&order_by=update_time desc`)))],
    ["Search for what no name has", ["zzz", "billing-payments", "xq", "aaa-edge"].map((text) => list(`&query=${text}`))],
    ["Remediated, or for CUDA", [list("&remediated=true"), list("&cuda_version=12.1"), list("&cuda_version=9.9")]],
    ["The same and a part of the name", [list("&remediated=true&query=api"), list("&cuda_version=12.1&query=mail")]],
    ["Counts of both", [`/libraries/v2/artifacts/count?${both}`]],
    ["Versions of one", projects.map(({ uid }) => versionsOf(uid))],
    [`${PAGE} of ${large.versions} versions of one`, [versionsOf(large.uid), `${versionsOf(large.uid)}&skip=${large.versions / 2}`]],
  ];
  const lines: Line[] = [];
  for (const [what, paths] of measurements) {
    const requests = paths.map((path) => holt.request("GET", path));
    lines.push(await latency(what, holt, requests, LIMIT_MS));
  }
  return lines;
}

function versionsOf(uid: string): string {
  return `/libraries/v2/artifacts/${encodeURIComponent(uid)}/versions?page_size=${PAGE}`;
}
