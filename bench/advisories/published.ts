/**
 * Measures the published view of advisories: documents about one CVE, and a 30-day report of resolved vulnerabilities.
 * One request at a time.
 */
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { openAdvisories } from "./lists.ts";

const DOCUMENTS_MS = 20;
const REPORT_MS = 1000;

export async function publishedAdvisories(store: StoreName): Promise<Line[]> {
  const holt = await openAdvisories(store);
  await using server = holt.server;
  const { samples, images } = holt.contents;
  const measure = async (measured: string, limit: number, percentile: "p50" | "p99", paths: readonly string[]): Promise<Line> => {
    const load = { port: server.port, connections: 1, requests: paths.map((path) => holt.request("GET", path)) };
    const [figures] = await compare("http1", [{ pid: server.pid, load }]);
    const { p50 = Number.NaN, p99 = Number.NaN } = figures ?? {};
    const holds = (percentile === "p50" ? p50 : p99) <= limit;
    return { measured, store, figure: `p50 ${short(p50)} ms, p99 ${short(p99)} ms`, target: `${percentile} ≤ ${limit} ms`, holds };
  };
  const refs = images.repos.map((repo) => `imageRefs=${repo}`).join("&");
  const report = `/advisory/v2/images/resolvedVulns?${refs}&startTime=${images.start}&endTime=${images.end}`;
  const documents = samples.map(({ alias }) => `/advisory/v2/documents?cves=${alias}`);
  return [
    await measure("Documents about a CVE", DOCUMENTS_MS, "p99", documents),
    await measure(`Report: resolved in ${images.repos.length} images in 30 days`, REPORT_MS, "p50", [report]),
  ];
}
