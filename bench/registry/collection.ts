/** Measures garbage collection in a large registry with little garbage, and its effect on concurrent pulls. */
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { bootstrapDatabase, insertAll, openSink, type Target } from "../data/fill.ts";
import type { Row } from "../data/rows.ts";
import { openDataset, type StoreName } from "../data/stores.ts";
import { makeLoad } from "../process.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serveFilled } from "../servers.ts";
import { type Blob, blobOf, blobRow, type ImageRows, imageRows, linkRow, repoCounts, repoRow, tagRow } from "./rows.ts";

const LIMIT_S = 60;
const MAX_P99_RATIO = 2;
const REPOS = 100;
const LAYERS_PER_REPO = 20;
const LAYERS_PER_IMAGE = 3;
const GARBAGE_FRACTION = 0.01;
const CONNECTIONS = 16;
/** The load is split into short runs, because the duration of the collection is not known. */
const LOAD_RUN_MS = 1000;
const OLD = new Date(Date.now() - 30 * 24 * 60 * 60 * 1000).toISOString();
const COLLECTED = '"msg":"collected what no repository needs"';

interface Contents {
  readonly repos: readonly string[];
  readonly images: number;
}

export async function collection(store: StoreName): Promise<Line[]> {
  const images = scale.rows / 10;
  const sources = ["bench/registry/rows.ts", "bench/registry/collection.ts"];
  const filled = await openDataset(store, { key: `images_${images}`, sources, fill: (target) => fill(target, images) });
  const garbage = images * GARBAGE_FRACTION;
  await appendGarbage(filled.target, filled.contents, garbage);
  const log = join(filled.target.dataDir, "collection.log");
  await rm(log, { force: true });
  const holt = await serveFilled(filled, { log });
  await using _ = holt.server;
  // The collection starts one second after the server.
  const started = performance.now();
  const requests = filled.contents.repos.map((_, i) => holt.request("GET", `/v2/bench/repo-${i}/manifests/v${i}`));
  const pull = () =>
    makeLoad("http1", { port: holt.server.port, connections: CONNECTIONS, requests, warmUpMs: 200, durationMs: LOAD_RUN_MS });
  await sleep(1000);
  let seconds = Number.NaN;
  let report = "{}";
  const watching = (async () => {
    report = await waitForLine(log, COLLECTED);
    seconds = (performance.now() - started) / 1000;
  })();
  const during: number[] = [];
  while (Number.isNaN(seconds)) during.push((await pull()).p99);
  await watching;
  const { manifests, blobs } = JSON.parse(report) as { manifests: number; blobs: number };
  if (manifests !== garbage || blobs !== garbage) throw new Error(`expected ${garbage} collected images: ${report}`);
  const without: number[] = [];
  while (without.length < Math.max(during.length, scale.rounds)) without.push((await pull()).p99);

  const measured = `Garbage collection of ${garbage} of ${images + garbage} images`;
  const p99 = median(during);
  const baseline = median(without);
  return [
    { measured, store, figure: `${short(seconds)} s, during constant pulls`, target: `≤ ${LIMIT_S} s`, holds: seconds <= LIMIT_S },
    {
      measured: `Manifest pulls by ${CONNECTIONS} clients during the collection`,
      store,
      figure: `p99 ${short(p99)} ms, ${short(baseline)} ms without: ${(p99 / baseline).toFixed(2)}×`,
      target: `≤ ${MAX_P99_RATIO}×`,
      holds: p99 <= MAX_P99_RATIO * baseline,
    },
  ];
}

/** Reads each byte of the log only once, because the log grows with every pull and reading must not take CPU time from the pulls. */
async function waitForLine(log: string, part: string): Promise<string> {
  await using file = await open(log, "r");
  const buffer = Buffer.alloc(1024 * 1024);
  for (let rest = ""; ; ) {
    const { bytesRead } = await file.read(buffer);
    const lines = (rest + buffer.toString("latin1", 0, bytesRead)).split("\n");
    const found = lines.find((line) => line.includes(part));
    if (found !== undefined) return found;
    rest = lines.at(-1) ?? "";
    if (bytesRead === 0) await sleep(50);
  }
}

/** Stores tagged images that share layers within their repos, and writes their blobs to disk. */
async function fill(target: Target, images: number): Promise<Contents> {
  const started = performance.now();
  const organization = await bootstrapDatabase(target);
  const repos = Array.from({ length: REPOS }, () => newUid(organization));
  const layersOf = repos.map((_, repo) => Array.from({ length: LAYERS_PER_REPO }, (_, i) => blobOf(`layer ${i} of ${repo}`)));
  const configOf = (i: number) => blobOf(`{"architecture":"amd64","os":"linux","author":"${i}"}`);
  const imageOf = (i: number): ImageRows => {
    const layers = layersOf[i % REPOS] ?? [];
    const used = Array.from({ length: LAYERS_PER_IMAGE }, (_, n) => layers[(Math.floor(i / REPOS) + n * 7) % layers.length]!);
    return imageRows(repos[i % REPOS] ?? "", configOf(i), used, OLD);
  };
  const sink = await openSink(target);
  const each = async (table: string, rowsOf: (i: number) => Iterable<Row>) => {
    await insertAll(
      sink,
      table,
      (function* () {
        for (let i = 0; i < images; i++) yield* rowsOf(i);
      })(),
    );
  };
  await insertAll(
    sink,
    "repo",
    repos.map((uid, i) => repoRow(uid, `repo-${i}`, 0)),
  );
  await insertAll(
    sink,
    "blob",
    layersOf.flat().map((blob) => blobRow(blob, OLD)),
  );
  await each("blob", (i) => [blobRow(configOf(i), OLD)]);
  await insertAll(
    sink,
    "repo_blob",
    layersOf.flatMap((layers, repo) => layers.map((blob) => linkRow(repos[repo] ?? "", blob, OLD))),
  );
  await each("repo_blob", (i) => [linkRow(repos[i % REPOS] ?? "", configOf(i), OLD)]);
  await each("manifest", (i) => [imageOf(i).manifest]);
  await each("manifest_reference", (i) => imageOf(i).references);
  await each("image", (i) => [imageOf(i).image]);
  await each("tag", (i) => [tagRow(repos[i % REPOS] ?? "", `v${i}`, imageOf(i).digest, 0.5)]);
  await insertAll(sink, "resource_count", repoCounts(new Map(repos.map((uid) => [uid, images / REPOS]))));
  await sink.finish();
  for (const blob of layersOf.flat()) await writeBlob(target, blob);
  for (let i = 0; i < images; i++) await writeBlob(target, configOf(i));
  console.log(`  filled ${images} images in ${Math.round((performance.now() - started) / 1000)} s`);
  return { repos, images };
}

async function writeBlob({ dataDir }: Target, { digest, content }: Blob): Promise<void> {
  const [algorithm = "", hex = ""] = digest.split(":");
  const path = join(dataDir, "blobs", algorithm, hex.slice(0, 2), hex);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** Adds old untagged images, each with its own config, and backdates the last collection so that the next one starts at once. */
async function appendGarbage(target: Target, { repos }: Contents, number: number): Promise<void> {
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  for (let start = 0; start < number; start += REPOS) {
    const blobs: Blob[] = [];
    await store.transaction(async (db) => {
      for (const repo of repos.slice(0, number - start)) {
        const config = blobOf(`{"architecture":"amd64","os":"linux","author":"${newUid("")}"}`);
        const { manifest, references, image } = imageRows(repo, config, [], OLD);
        blobs.push(config);
        await db
          .insertInto("blob")
          .values(blobRow(config, OLD) as never)
          .execute();
        await db
          .insertInto("repo_blob")
          .values(linkRow(repo, config, OLD) as never)
          .execute();
        await db
          .insertInto("manifest")
          .values(manifest as never)
          .execute();
        await db
          .insertInto("manifest_reference")
          .values(references as never)
          .execute();
        await db
          .insertInto("image")
          .values(image as never)
          .execute();
      }
    });
    for (const blob of blobs) await writeBlob(target, blob);
  }
  const value = JSON.stringify({ finished: OLD });
  await store.transaction((db) =>
    db
      .insertInto("server_state")
      .values({ name: "blob_collection", value })
      .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
      .execute(),
  );
}
