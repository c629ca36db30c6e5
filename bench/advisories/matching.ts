/**
 * Measures how fast open vulnerabilities follow changes, in a database of its own: links images to their packages, compares
 * them with all advisories, as after an import, then with one advisory of a package that all images have, and pushes one
 * image. `npx node bench/advisories/matching.ts [IMAGES] [ADVISORIES] [sqlite|postgres]`
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPublication } from "../../packages/server/src/advisories/documents/publication.ts";
import { startMatching } from "../../packages/server/src/advisories/findings/matching-worker.ts";
import { insertRequests } from "../../packages/server/src/advisories/storage/match-requests.ts";
import type { MatchRequestTable } from "../../packages/server/src/advisories/tables.ts";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import type { Store } from "../../packages/server/src/db/store.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { bootstrapDatabase, insertAll, openSink, type Sink } from "../data/fill.ts";
import { closeStores, databaseOn } from "../data/stores.ts";
import {
  advisoryRow,
  digestOf,
  EVERYWHERE,
  fillAdvisories,
  fillImages,
  manifestRow,
  NAMES,
  packageRows,
  scanRow,
  termRow,
  vulnerabilityRow,
} from "./matching-rows.ts";

const [images = 10_000, advisories = 500_000] = process.argv.slice(2, 4).map(Number);
const storeName = process.argv[4] === "postgres" ? "postgres" : "sqlite";
/** A revision that no filled image has. */
const NEW_REVISION = 100;
const log = createLog("warn");

const dataDir = await mkdtemp(join(tmpdir(), "holt-matching-"));
const target = { dataDir, url: await databaseOn(storeName, "bench_matching") };
const organization = await bootstrapDatabase(target);
console.log(`${images} images, ${advisories} advisories, ${storeName}`);
const repo = await filled((sink) => fillImages(sink, organization, images));
await compare(async (store) => {
  await request(
    store,
    "image",
    Array.from({ length: images }, (_, number) => digestOf(`image ${number}`)),
  );
  await settle("linking all images to their packages", () => isDone(store));
});
await filled((sink) => fillAdvisories(sink, organization, advisories));
await compare(async (store) => {
  await request(
    store,
    "advisory",
    Array.from({ length: NAMES }, (_, number) => `apk package-${number}`),
  );
  await settle("comparing all packages with all advisories, until reports show them", () => isDone(store, ["alert"]));
  await settle("the same, until all images are looked at for events", () => isDone(store));
  console.log(`${await count(store, "finding")} findings in ${await count(store, "matched_package")} packages`);
});
await filled(async (sink) => {
  const row = advisoryRow(organization, advisories, EVERYWHERE, NEW_REVISION);
  await insertAll(sink, "advisory", [row]);
  await insertAll(sink, "advisory_term", [termRow(row)]);
  await insertAll(sink, "vulnerability", [vulnerabilityRow(advisories, true)]);
  const digest = digestOf("another image");
  const packages = Array.from({ length: 100 }, (_, i) => [`package-${i}`, NEW_REVISION + i] as const);
  await insertAll(sink, "image_scan", [scanRow(digest, packages.length)]);
  await insertAll(sink, "image_package", packageRows(digest, packages));
  await insertAll(sink, "manifest", [manifestRow(repo, digest)]);
});
await compare(async (store) => {
  await request(store, "advisory", [`apk ${EVERYWHERE}`]);
  await settle("one critical advisory of a package in all images, until reports show it", () => isDone(store, ["alert"]));
  await settle("the same, until all images are looked at for events", () => isDone(store));
  await request(store, "image", [digestOf("another image")]);
  await settle("one image with 100 new versions", () => isDone(store));
});
await closeStores();
await rm(dataDir, { recursive: true });

async function filled<T>(fill: (sink: Sink) => Promise<T>): Promise<T> {
  const sink = await openSink(target);
  const result = await fill(sink);
  await sink.finish();
  return result;
}

async function compare(work: (store: Store) => Promise<void>): Promise<void> {
  await using store = await openDatabase({ ...target, log });
  const names = { profile: { eventPrefix: "dev.holt" } as never, baseUrl: "", subjects: {}, onAppend: () => {} };
  await using _ = startMatching({ store, clock: systemClock, log, publication: createPublication({ organizations: "first" }), names });
  await work(store);
}

async function request(store: Store, kind: MatchRequestTable["kind"], names: readonly string[]): Promise<void> {
  const all = names.map((name) => ({ org_uid: organization, kind, name }));
  for (let start = 0; start < all.length; start += 1000)
    await store.transaction((db) => insertRequests(db, all.slice(start, start + 1000)));
}

async function isDone(store: Store, except: readonly MatchRequestTable["kind"][] = []): Promise<boolean> {
  const query = store.reader.selectFrom("match_request").select("name").limit(1);
  return (await (except.length === 0 ? query : query.where("kind", "not in", except)).execute()).length === 0;
}

async function count(store: Store, table: "finding" | "matched_package"): Promise<number> {
  const query = store.reader.selectFrom(table).select(({ fn }) => fn.countAll().as("n"));
  return Number((await query.executeTakeFirstOrThrow()).n);
}

/** Prints the seconds until it is done, and those of CPU of this process. */
async function settle(name: string, isSettled: () => Promise<boolean>): Promise<void> {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  while (!(await isSettled())) await new Promise((resolve) => setTimeout(resolve, 50));
  const { user, system } = process.cpuUsage(cpu);
  console.log(`${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s, ${((user + system) / 1_000_000).toFixed(1)} s of CPU`);
}
