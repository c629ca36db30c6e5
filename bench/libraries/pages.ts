/** Measures the index pages that package managers read before they download, in a large library. */
import type { StoreName } from "../data/stores.ts";
import { latency } from "../latency.ts";
import type { Line } from "../report.ts";
import { serveCatalogue } from "./catalogue.ts";

const LIMIT_MS = 5;
const TYPES = { JSON: "application/vnd.pypi.simple.v1+json", HTML: "text/html" } as const;

export async function libraryPages(store: StoreName): Promise<Line[]> {
  const holt = await serveCatalogue(store);
  await using _server = holt.server;
  const { projects, large, javaNames } = holt.contents;
  const get = (path: string, accept: string) =>
    holt.request("GET", path, undefined, { authorization: `Bearer ${holt.server.token}`, accept });
  const simple = (name: string) => `/libraries/python/bench/simple/${name}/`;
  const lines: Line[] = [];
  for (const [type, accept] of Object.entries(TYPES)) {
    const requests = projects.map(({ name }) => get(simple(name), accept));
    lines.push(await latency(`Simple index page of a project, ${type}`, holt, requests, LIMIT_MS));
    lines.push(
      await latency(`Simple index page with ${large.versions} files, ${type}`, holt, [get(simple(large.name), accept)], undefined),
    );
  }
  const metadata = javaNames.map((name) => get(`/libraries/java/bench/${name.replaceAll(/[.:]/g, "/")}/maven-metadata.xml`, "*/*"));
  lines.push(await latency("maven-metadata.xml of one artifact", holt, metadata, LIMIT_MS));
  return lines;
}
