/** Measures pages of a long audit log by every filter. One client sends one request at a time. */
import type { StoreName } from "../data/stores.ts";
import { latency } from "../latency.ts";
import type { Line } from "../report.ts";
import { isChosen, scale } from "../scale.ts";
import { type Served, serveFilled } from "../servers.ts";
import { type AuditContents, openEntries } from "./entries.ts";
import { measuredLists } from "./filters.ts";

const LIMIT_MS = { sqlite: 15, postgres: 30 };
/** For a list without entries, on both stores. */
const EMPTY_LIMIT_MS = 25;
/** A list that needs more requests is given up. */
const MAX_PAGES = 1000;

type Holt = Served<AuditContents>;

export async function auditLists(store: StoreName): Promise<Line[]> {
  const holt = await serveFilled(await openEntries(store, scale.rows));
  await using _server = holt.server;
  const lines: Line[] = [];
  const measure = async (list: string, paths: readonly string[], limitMs: number, more = "") => {
    if (!isChosen(list)) return;
    const requests = paths.map((path) => holt.request("GET", path));
    lines.push(await latency(`50 of ${holt.contents.entries} audit entries, ${list}${more}`, holt, requests, limitMs));
  };
  for (const [list, { queries, isEmpty = false }] of Object.entries(measuredLists(holt.contents))) {
    const paths = queries.map((query) => `/holt/v1/audit/entries?${query}`);
    const [path = ""] = paths;
    const pages = isEmpty && isChosen(list) ? `; the end comes after ${await countPages(holt, path)} requests` : "";
    await measure(list, paths, isEmpty ? EMPTY_LIMIT_MS : LIMIT_MS[store], pages);
    const { nextPageToken } = await readPage(holt, path);
    if (!isEmpty && nextPageToken !== "") await measure(`${list}, page 2`, [withToken(path, nextPageToken)], LIMIT_MS[store]);
  }
  return lines;
}

interface Page {
  readonly entries?: readonly unknown[];
  readonly nextPageToken: string;
}

async function readPage(holt: Holt, path: string): Promise<Page> {
  return { nextPageToken: "", ...(JSON.parse(await holt.fetch("GET", path)) as object) };
}

function withToken(path: string, token: string): string {
  return `${path}&page_token=${encodeURIComponent(token)}`;
}

async function countPages(holt: Holt, path: string): Promise<number> {
  let next = path;
  for (let pages = 1; pages <= MAX_PAGES; pages++) {
    const { entries = [], nextPageToken } = await readPage(holt, next);
    if (entries.length > 0) throw new Error(`${path} has entries`);
    if (nextPageToken === "") return pages;
    next = withToken(path, nextPageToken);
  }
  return Number.NaN;
}
