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
import { secdbOf } from "../../packages/server/test/harness/advisories/remote-client.ts";
import { APK, apkDatabase, layerOf } from "../../packages/server/test/harness/registry/image-content.ts";
import { basic, CONFIG, createRegistryClient, LAYER, MANIFEST } from "../../packages/server/test/harness/registry/registry-client.ts";
import { type Sink, startSink } from "../events/servers.ts";
import { type Line, median, short } from "../report.ts";
import { EVENTS, openBacklog, ROUNDS } from "./deliveries.ts";
import { type Fleet, startFleet } from "./servers.ts";
import { type Idle, measureIdle, secondsBeyondIdle, spentDuring } from "./spent.ts";

/** An organization may have this number at most. */
const IMPORTS = 8;
const PACKAGES_PER_IMPORT = Number(process.env.BENCH_FLEET_PACKAGES ?? 4000);
const SCANS = Number(process.env.BENCH_FLEET_SCANS ?? 60);
const PACKAGES_PER_IMAGE = 300;
const SAMPLE_MS = 10;

interface Work {
  readonly kind: string;
  /** Jobs, for the CPU time per job. */
  readonly count: number;
  /** The leased table, and the column that names a job. */
  readonly table: string;
  readonly key: string;
  /** Times that the work is prepared and done; the CPU time is the median. */
  readonly rounds: number;
  prepare(): Promise<void>;
  /** Begins the work and waits until it is done. */
  run(): Promise<void>;
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
    const idle = await measureIdle(fleet);
    for (const work of [await deliveries(fleet, sink), await imports(fleet), scans(fleet)]) {
      const share = await measure(fleet, work, idle);
      const one = first.get(work.kind) ?? share;
      first.set(work.kind, one);
      const faster = one.cpuMs / share.cpuMs / share.busiest;
      const figure = `CPU time ${short(share.cpuMs)} ms each; the busiest server has ${Math.round(100 * share.busiest)} %; so ${short(faster)} × one server with enough processors`;
      lines.push({ measured: `${work.count} ${work.kind}, ${size} server${size > 1 ? "s" : ""}`, store: "postgres", figure });
    }
  }
  return lines;
}

async function measure(fleet: Fleet, work: Work, idle: Idle): Promise<Share> {
  const rounds: Share[] = [];
  for (let round = 0; round < work.rounds; round++) {
    await work.prepare();
    rounds.push(await measureRound(fleet, work, idle));
  }
  return { cpuMs: median(rounds.map(({ cpuMs }) => cpuMs)), busiest: median(rounds.map(({ busiest }) => busiest)) };
}

async function measureRound(fleet: Fleet, { count, table, key, run }: Work, idle: Idle): Promise<Share> {
  const holders = sampleHolders(fleet.client, table, key);
  const spent = secondsBeyondIdle(await spentDuring(fleet, run), idle);
  return { cpuMs: (spent / count) * 1000, busiest: await holders.end() };
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

async function untilNone(client: pg.Client, query: string): Promise<void> {
  while (Number((await client.query<{ n: string }>(query)).rows[0]?.n) > 0) await sleep(50);
}

async function deliveries(fleet: Fleet, sink: Sink): Promise<Work> {
  const backlog = await openBacklog([fleet], sink);
  return {
    ...{ kind: "deliveries", count: EVENTS, table: "subscription_queue", key: "subscription_uid", rounds: ROUNDS },
    prepare: () => backlog.settle(),
    run: () => backlog.deliver(EVENTS),
  };
}

async function imports({ organization, post, client, servers: [{ token }] }: Fleet): Promise<Work> {
  const { sub } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { sub: string };
  const capabilities = ["advisories.create", "advisories.update", "advisories.list"];
  const { uid: role } = await post(`/iam/v2/roles/${organization}`, { name: "importer", capabilities });
  await post(`/iam/v2/roleBindings/${organization}`, { identityUid: sub, roleUid: role });
  const uids: string[] = [];
  return {
    ...{ kind: `imports of ${PACKAGES_PER_IMPORT} packages`, count: IMPORTS, table: "advisory_import", key: "uid", rounds: 1 },
    async prepare() {
      for (let i = 0; i < IMPORTS; i++) {
        const { uid: group } = await post(`/iam/v2/groups/${organization}`, { name: `import-${i}` });
        const { uid } = await post(`/holt/v1/imports/${group}`, { kind: "IMPORT_KIND_ADVISORIES", fileName: "feed.json" });
        await post(`/holt/v1/imports/${uid}:write`, { offset: "0", data: secdbOf(PACKAGES_PER_IMPORT).toString("base64") });
        uids.push(uid);
      }
    },
    async run() {
      for (const uid of uids) await post(`/holt/v1/imports/${uid}:start`, {});
      await untilNone(client, "select count(*) as n from advisory_import where state in ('waiting', 'running')");
    },
  };
}

function scans({ target, organization, client, servers: [{ port, token }] }: Fleet): Work {
  const digests: string[] = [];
  // After a scan its origins are recorded, for each organization that waits.
  const open = "select (select count(*) from image_scan where state = 'pending') + (select count(*) from image_wait) as n";
  return {
    ...{ kind: `scans of images with ${PACKAGES_PER_IMAGE} packages`, count: SCANS, table: "image_scan", key: "digest", rounds: 1 },
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
