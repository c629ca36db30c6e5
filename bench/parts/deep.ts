/** Lists that are hard in a large table: of a small group in it, far into it by page tokens, far into it by skip. One client, one request after another. */
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { type Served, serve } from "../servers.ts";

const PAGE = 50;
/** Page 10,000 of a million rows. */
const DEEP_SHARE = 0.5;
const PAGES = 20;
const LIMIT_MS = { sqlite: 15, postgres: 30 };

export async function deepLists(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const { rows, teams } = holt.contents;
  const skip = Math.floor(rows * 0.9);
  const list = (query: string) => `/iam/v2/identities?page_size=${PAGE}&${query}`;
  return [
    ...(teams.length === 0
      ? []
      : [
          await latency(
            `List by name of ${teams.length} groups with 1000 of the rows`,
            holt,
            teams.map((team) => list(`order_by=name&uidp.descendants_of=${team}`)),
          ),
        ]),
    await latency(`List by name, pages ${(rows * DEEP_SHARE) / PAGE} and on`, holt, await deepPages(holt, list("order_by=name"))),
    await latency(`List by name, skip=${skip}`, holt, [list(`order_by=name&skip=${skip}`)]),
    await latency(`List in default order, skip=${skip}`, holt, [list(`skip=${skip}`)]),
  ];
}

/** Tokens carry a position, not a number: the page before is reached by skip, those after it token by token. */
async function deepPages(holt: Served, path: string): Promise<string[]> {
  const next = async (query: string) =>
    (JSON.parse(await holt.fetch("GET", `${path}&${query}`)) as { nextPageToken: string }).nextPageToken;
  const tokens = [await next(`skip=${holt.contents.rows * DEEP_SHARE - 2 * PAGE}`)];
  while (tokens.length < PAGES) tokens.push(await next(`page_token=${tokens.at(-1)}`));
  return tokens.map((token) => `${path}&page_token=${token}`);
}

async function latency(what: string, { name, server, request }: Served, paths: readonly string[]): Promise<Line> {
  const load = { port: server.port, connections: 1, requests: paths.map((path) => request("GET", path)) };
  const [figures] = await compare("http1", [{ pid: server.pid, load }]);
  const { p50 = Number.NaN, p99 = Number.NaN } = figures ?? {};
  const limit = LIMIT_MS[name];
  return { what, store: name, figure: `p50 ${short(p50)} ms, p99 ${short(p99)} ms`, target: `p99 ≤ ${limit} ms`, holds: p99 <= limit };
}
