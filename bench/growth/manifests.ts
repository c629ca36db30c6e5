/** Fills databases with tagged manifests without blobs, because a GET of a manifest reads none. */
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { bootstrapDatabase, insertAll, openSink, type Target } from "../data/fill.ts";
import type { Row } from "../data/rows.ts";
import { type Filled, openDataset, type StoreName } from "../data/stores.ts";
import { blobOf, imageRows, repoCounts, repoRow, tagRow } from "../registry/rows.ts";

const REPOS = 100;
const LAYERS = 8;
const SAMPLES = 1000;

/** The server has looked for manifests of earlier versions to scan. Otherwise it would do so while it is measured. */
const SEARCHED: Row = { name: "image_scan_search", value: JSON.stringify({ pass: 2, after: ["", ""], due: "" }) };

interface Manifests {
  /** Paths of manifests by tag. */
  readonly paths: readonly string[];
}

export function openManifests(store: StoreName, manifests: number): Promise<Filled<Manifests>> {
  const sources = ["bench/registry/rows.ts", "bench/growth/manifests.ts"];
  return openDataset(store, { key: `manifests_${manifests}`, sources, fill: (target) => fill(target, manifests) });
}

async function fill(target: Target, manifests: number): Promise<Manifests> {
  const organization = await bootstrapDatabase(target);
  const repos = Array.from({ length: REPOS }, () => newUid(organization));
  const layers = Array.from({ length: LAYERS }, (_, i) => blobOf(`layer ${i}`));
  const repoOf = (i: number) => repos[i % REPOS] ?? "";
  const time = new Date().toISOString();
  const imageOf = (i: number) => imageRows(repoOf(i), blobOf(`config ${i}`), layers, time);
  const sink = await openSink(target);
  await insertAll(
    sink,
    "repo",
    repos.map((uid, i) => repoRow(uid, `repo-${i}`, 0)),
  );
  await insertAll(
    sink,
    "manifest",
    rowsOf(manifests, (i) => imageOf(i).manifest),
  );
  await insertAll(
    sink,
    "tag",
    rowsOf(manifests, (i) => tagRow(repoOf(i), `v${i}`, imageOf(i).digest, i / manifests)),
  );
  await insertAll(sink, "resource_count", repoCounts(new Map(repos.map((uid) => [uid, manifests / REPOS]))));
  await insertAll(sink, "server_state", [SEARCHED]);
  await sink.finish();
  const step = Math.max(1, Math.floor(manifests / SAMPLES));
  const paths = Array.from(
    { length: Math.min(SAMPLES, manifests) },
    (_, n) => `/v2/bench/repo-${(n * step) % REPOS}/manifests/v${n * step}`,
  );
  return { paths };
}

function* rowsOf(count: number, rowOf: (i: number) => Row): Iterable<Row> {
  for (let i = 0; i < count; i++) yield rowOf(i);
}
