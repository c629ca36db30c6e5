/**
 * Measures how several servers share background work: deliveries, imports and scans of images. A backlog is prepared, and
 * then all servers work on it. Where processors are missing, the rate says nothing. So the parts count which server had
 * which job, and take the CPU time: the share of the busiest server limits how much faster several servers can be.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { appendScan } from "../../packages/server/src/registry/packages/scan-queue.ts";
import { APK, apkDatabase, layerOf } from "../../packages/server/test/harness/registry/image-content.ts";
import { basic, CONFIG, createRegistryClient, LAYER, MANIFEST } from "../../packages/server/test/harness/registry/registry-client.ts";
import { startSink } from "../events/servers.ts";
import { type Line, median, short } from "../report.ts";
import { deliveries } from "./deliveries.ts";
import { imports } from "./imports.ts";
import { type Fleet, startFleet } from "./servers.ts";
import { type Idle, measureIdle } from "./spent.ts";
import { costOf, ROUNDS, untilNone, type Work } from "./work.ts";

const SCANS = Number(process.env.BENCH_FLEET_SCANS ?? 240);
const PACKAGES_PER_IMAGE = 300;
const SAMPLE_MS = 10;

interface LeasedWork {
  readonly work: Work;
  /** The leased table, and the column that names a job. */
  readonly table: string;
  readonly key: string;
  /** Times that the work is prepared and done; the CPU time is the median. */
  readonly rounds: number;
}

interface Share {
  /** CPU time of servers and PostgreSQL per job, in milliseconds, without what they use while idle. */
  readonly cpuMs: number;
  /** Share of the server that had the most, from 1 divided by the number of servers to 1. */
  readonly busiest: number;
}

export async function backgroundWork(sizes: readonly number[]): Promise<Line[]> {
  const lines: Line[] = [];
  const first = new Map<string, Share>();
  for (const size of sizes) {
    await using fleet = await startFleet(size);
    await using sink = await startSink();
    // Before all work, which leaves the servers something to do for a while.
    const idle = await measureIdle(fleet);
    const leased: LeasedWork[] = [
      { work: await deliveries([fleet], sink), table: "subscription_queue", key: "subscription_uid", rounds: ROUNDS },
      { work: await imports([fleet]), table: "advisory_import", key: "uid", rounds: 1 },
      { work: scans(fleet), table: "image_scan", key: "digest", rounds: 1 },
    ];
    for (const each of leased) {
      const { work } = each;
      const share = await measure(fleet, each, idle);
      const one = first.get(work.kind) ?? share;
      first.set(work.kind, one);
      const faster = one.cpuMs / share.cpuMs / share.busiest;
      const figure = `CPU time ${short(share.cpuMs)} ms each; the busiest server has ${Math.round(100 * share.busiest)} %; so ${short(faster)} × one server with enough processors`;
      lines.push({ measured: `${work.count} ${work.kind}, ${size} server${size > 1 ? "s" : ""}`, store: "postgres", figure });
    }
  }
  return lines;
}

async function measure(fleet: Fleet, leased: LeasedWork, idle: Idle): Promise<Share> {
  const shares: Share[] = [];
  for (let round = 0; round < leased.rounds; round++) shares.push(await measureRound(fleet, leased, idle));
  return { cpuMs: median(shares.map(({ cpuMs }) => cpuMs)), busiest: median(shares.map(({ busiest }) => busiest)) };
}

async function measureRound(fleet: Fleet, { work, table, key }: LeasedWork, idle: Idle): Promise<Share> {
  await work.prepare();
  let busiest = Number.NaN;
  const run = async () => {
    const holders = sampleHolders(fleet.client, table, key);
    await work.run();
    busiest = await holders.end();
  };
  return { cpuMs: await costOf([fleet], { ...work, run }, [idle]), busiest };
}

/** Counts samples in which a server has a job. */
function sampleHolders(client: pg.Client, table: string, key: string) {
  const counts = new Map<string, number>();
  let isOver = false;
  async function sample(): Promise<void> {
    while (!isOver) {
      const { rows } = await client.query<{ holder: string; jobs: string }>(
        `select lease_holder as holder, count(${key}) as jobs from ${table} where lease_time is not null group by 1`,
      );
      for (const { holder, jobs } of rows) counts.set(holder, (counts.get(holder) ?? 0) + Number(jobs));
      await sleep(SAMPLE_MS);
    }
  }
  const running = sample();
  return {
    /** @returns the share of the server that was seen with the most jobs */
    async end(): Promise<number> {
      isOver = true;
      await running;
      const seen = [...counts.values()];
      return Math.max(...seen) / seen.reduce((sum, count) => sum + count, 0);
    },
  };
}

function scans({ target, organization, client, servers: [{ port, token }] }: Fleet): Work {
  const digests: string[] = [];
  // After a scan its origins are recorded, for each organization that waits.
  const open = "select (select count(*) from image_scan where state = 'pending') + (select count(*) from image_wait) as n";
  return {
    kind: `scans of images with ${PACKAGES_PER_IMAGE} packages`,
    count: SCANS,
    async prepare() {
      using registry = createRegistryClient(`http://127.0.0.1:${port}`, basic("_token", token));
      for (let i = 0; i < SCANS; i++) {
        const packages = Array.from({ length: PACKAGES_PER_IMAGE }, (_, n) => `package-${i}-${n} 1.${n}-r0`);
        const layer = await registry.blob("my-org/scanned", await layerOf({ [APK]: apkDatabase(...packages) }), LAYER);
        const config = await registry.blob(
          "my-org/scanned",
          JSON.stringify({ os: "linux", architecture: "amd64", author: `${i}` }),
          CONFIG,
        );
        digests.push(
          (await registry.manifest("my-org/scanned", { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] })).digest,
        );
      }
      await untilNone(client, open);
    },
    /** Has all images read again. */
    async run() {
      await using store = await openDatabase({ ...target, log: createLog("warn") });
      await store.transaction(async (db) => {
        await db.updateTable("image_scan").set({ state: "failed" }).execute();
        for (const digest of digests) await appendScan(db, digest, organization, new Date());
      });
      await untilNone(client, open);
    },
  };
}
