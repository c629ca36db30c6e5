/**
 * Measures expensive lists of a large table: below a small group, deep page tokens, and a large skip. One client sends
 * one request at a time.
 */
import type { StoreName } from "../data/stores.ts";
import { latency } from "../latency.ts";
import type { Line } from "../report.ts";
import { type Served, serve } from "../servers.ts";

const PAGE_SIZE = 50;
/** Half of the rows: page 10,000 of a million rows. */
const DEEP_FRACTION = 0.5;
const PAGES = 20;
const LIMIT_MS = { sqlite: 15, postgres: 30 };

export async function deepLists(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const { rows, teams } = holt.contents;
  const skip = Math.floor(rows * 0.9);
  const list = (query: string) => `/iam/v2/identities?page_size=${PAGE_SIZE}&${query}`;
  const measure = (measured: string, paths: readonly string[]) =>
    latency(
      measured,
      holt,
      paths.map((path) => holt.request("GET", path)),
      LIMIT_MS[store],
    );
  return [
    ...(teams.length === 0
      ? []
      : [
          await measure(
            `List by name below ${teams.length} groups with 1000 identities each`,
            teams.map((team) => list(`order_by=name&uidp.descendants_of=${team}`)),
          ),
        ]),
    await measure(`List by name, from page ${(rows * DEEP_FRACTION) / PAGE_SIZE} on`, await deepPages(holt, list("order_by=name"))),
    await measure(`List by name, skip=${skip}`, [list(`order_by=name&skip=${skip}`)]),
    await measure(`List in default order, skip=${skip}`, [list(`skip=${skip}`)]),
  ];
}

/** Reaches the first page by skip and the others by page tokens, which carry a row's position and not a number of rows. */
async function deepPages(holt: Served, path: string): Promise<string[]> {
  const next = async (query: string) =>
    (JSON.parse(await holt.fetch("GET", `${path}&${query}`)) as { nextPageToken: string }).nextPageToken;
  const tokens = [await next(`skip=${holt.contents.rows * DEEP_FRACTION - 2 * PAGE_SIZE}`)];
  while (tokens.length < PAGES) tokens.push(await next(`page_token=${tokens.at(-1)}`));
  return tokens.map((token) => `${path}&page_token=${token}`);
}
