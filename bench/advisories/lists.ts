/**
 * Measures lists of advisories in a large organization by each filter, with frequent and rare values. One client sends
 * one request at a time.
 */
import { openDataset, type StoreName } from "../data/stores.ts";
import { latency } from "../latency.ts";
import type { Line } from "../report.ts";
import { isChosen, scale } from "../scale.ts";
import { type Served, serveFilled } from "../servers.ts";
import { type AdvisoryContents, fillAdvisories } from "./fill.ts";

const LIMIT_MS = { sqlite: 15, postgres: 30 };
/** Number of advisories per row of the other benchmarks. */
const ADVISORIES_PER_ROW = 0.5;

export async function openAdvisories(store: StoreName): Promise<Served<AdvisoryContents>> {
  const advisories = scale.rows * ADVISORIES_PER_ROW;
  const sources = [
    "bench/data/rows.ts",
    "bench/advisories/sample.ts",
    "bench/advisories/fill.ts",
    "bench/advisories/images.ts",
    "packages/server/src/advisories/storage/derive.ts",
  ];
  const filled = await openDataset(store, {
    key: `advisories_${advisories}`,
    sources,
    fill: (target) => fillAdvisories(target, advisories),
  });
  return serveFilled(filled);
}

export async function advisoryLists(store: StoreName): Promise<Line[]> {
  const holt = await openAdvisories(store);
  await using _server = holt.server;
  const { organization, samples } = holt.contents;
  const each = (queryOf: (sample: AdvisoryContents["samples"][number]) => string) => samples.map(queryOf);
  const queries: Readonly<Record<string, readonly string[]>> = {
    "default order": [""],
    "default order, pages of 200": ["page_size=200"],
    "by create_time desc": ["order_by=create_time%20desc"],
    "by artifact_name": ["order_by=artifact_name"],
    "by update_time, skip half": [`order_by=update_time&skip=${holt.contents.advisories / 2}`],
    "artifact type, broad": ["artifact_types=apk"],
    "artifact type, rare": ["artifact_types=oci"],
    "artifact type, none": ["artifact_types=nothing"],
    "artifact type, broad, by create_time": ["artifact_types=apk&order_by=create_time"],
    "artifact type, rare, by create_time": ["artifact_types=oci&order_by=create_time"],
    "architecture, half": ["artifact_architectures=x86_64"],
    "architecture, rare": ["artifact_architectures=riscv64"],
    "component type, a quarter": ["component_types=npm"],
    "component type, rare": ["component_types=rust-crate"],
    "event type, broad": ["event_types=EVENT_TYPE_FILTER_DETECTION"],
    "event type, rare": ["event_types=EVENT_TYPE_FILTER_PATCHED"],
    "latest event type, half": ["latest_event_type=EVENT_TYPE_FILTER_FIXED"],
    "latest event type, rare": ["latest_event_type=EVENT_TYPE_FILTER_PATCHED"],
    "review state, broad": ["event_review_states=REVIEW_STATE_APPROVED"],
    "review state, rare": ["event_review_states=REVIEW_STATE_REQUEST_CHANGES"],
    "review state, none": ["event_review_states=REVIEW_STATE_PENDING"],
    "two rare filters": ["artifact_types=oci&latest_event_type=EVENT_TYPE_FILTER_PATCHED"],
    "four filters": ["artifact_types=apk&artifact_architectures=x86_64&component_types=npm&latest_event_type=EVENT_TYPE_FILTER_FIXED"],
    "author, broad": ["event_authors=robot@example.com"],
    "author, rare": ["event_authors=guest@example.com"],
    "author, none": ["event_authors=nobody@example.com"],
    "exclude author, no matches": ["exclude_event_authors=robot@example.com"],
    "exclude author, most match": ["exclude_event_authors=guest@example.com"],
    "reviewer, broad": ["event_reviewers=reviewer@example.com"],
    "reviewer, rare": ["event_reviewers=auditor@example.com"],
    "artifact name, one in twenty": ["artifact_names=linux"],
    "artifact name": each(({ name }) => `artifact_names=${name}`),
    origin: each(({ name }) => `origin=${name}`),
    "component name, a sixth": ["component_names=stdlib"],
    "component location": each(({ location }) => `component_locations=${encodeURIComponent(location)}`),
    "advisory id": each(({ advisoryId }) => `advisory_ids=${advisoryId}`),
    alias: each(({ alias }) => `aliases=${alias}`),
    "100 aliases": [samples.map(({ alias }) => `aliases=${alias}`).join("&")],
    "query, an alias": each(({ alias }) => `query=${alias.toLowerCase()}`),
    "query, most match": ["query=cve"],
    "query, one letter": ["query=c"],
    "query, a year and a digit": ["query=cve-2024-1"],
    "query, part of names": ["query=e-1z"],
    "query, no matches": ["query=qzx"],
    "artifact name and two filters": ["artifact_names=linux&latest_event_type=EVENT_TYPE_FILTER_FIXED&artifact_types=apk"],
    "artifact name and author": each(({ name }) => `artifact_names=${name}&event_authors=robot@example.com`),
    "query, most match, and event type": ["query=cve&latest_event_type=EVENT_TYPE_FILTER_FIXED"],
    "query, most match, and rare type": ["query=cve&artifact_types=oci"],
    "author and type, both broad": ["event_authors=robot@example.com&artifact_types=apk"],
    "rare author, broad type": ["event_authors=guest@example.com&artifact_types=apk"],
  };
  const paths = Object.entries(queries).map(
    ([list, filters]) =>
      [list, filters.map((query) => `/vulnerabilities/v2/advisories?uidp.descendants_of=${organization}&${query}`)] as const,
  );
  const get = ["Get", each(({ uid }) => `/vulnerabilities/v2/advisories/${uid}`)] as const;
  const lines: Line[] = [];
  for (const [measured, all] of [...paths, get]) {
    if (!isChosen(measured)) continue;
    const requests = all.map((path) => holt.request("GET", path));
    lines.push(await latency(`Advisories: ${measured}`, holt, requests, LIMIT_MS[store]));
  }
  return lines;
}
