/** Measures the start of a server on a large database, and its memory when ready and after many reads. */

import packageJson from "../../package.json" with { type: "json" };
import { openFilled, type StoreName } from "../data/stores.ts";
import { makeLoad, residentMb, startHolt } from "../process.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serve, stopServers } from "../servers.ts";
import { childCpuSeconds } from "./start-built.ts";

const STARTS = 3;
/** Half of what both took before the program's start was made faster. */
const MAX_READY_MS = 1200;
const MAX_TOKEN_CPU_S = 1.2;
const MAX_MEMORY_MB = { sqlite: 160, postgres: 200 };
/** 60 s with the default duration of a round. */
const READS_MS = scale.round.durationMs * 15;

export async function start(store: StoreName): Promise<Line[]> {
  await stopServers();
  const { target, contents } = await openFilled(store, scale.rows);
  const ready: number[] = [];
  const memory: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    await using server = await startHolt(target);
    ready.push(server.readyMs);
    memory.push(await residentMb(server.pid));
  }
  const holt = await serve(store);
  const { port, pid } = holt.server;
  const requests = ["order_by=name", "order_by=create_time%20desc", "", `order_by=name&skip=${Math.floor(contents.rows * 0.9)}`].map(
    (query) => holt.request("GET", `/iam/v2/identities?page_size=50&${query}`),
  );
  await makeLoad("http1", { port, connections: scale.connections, requests, warmUpMs: 0, durationMs: READS_MS });
  const afterReads = await residentMb(pid);
  const readyMs = median(ready);
  const residentMbWhenReady = median(memory);
  const [program = "", ...args] = [process.execPath, ...packageJson.scripts.token.split(" ").slice(1)];
  const env = {
    PATH: process.env.PATH ?? "",
    HOLT_LISTEN: `127.0.0.1:${port}`,
    HOLT_DATA_DIR: target.dataDir,
    HOLT_DATABASE_URL: target.url,
  };
  const tokenCpu = await childCpuSeconds([program, ...args], env);
  return [
    { measured: "Start", store, figure: `ready in ${short(readyMs)} ms`, target: `≤ ${MAX_READY_MS} ms`, holds: readyMs <= MAX_READY_MS },
    {
      measured: "Resident memory",
      store,
      figure: `${short(residentMbWhenReady)} MB when ready, ${short(afterReads)} MB after ${READS_MS / 1000} s of lists`,
      target: `≤ ${MAX_MEMORY_MB[store]} MB`,
      holds: Math.max(residentMbWhenReady, afterReads) <= MAX_MEMORY_MB[store],
    },
    {
      measured: "CPU time of `token`",
      store,
      figure: `${tokenCpu.toFixed(2)} s`,
      target: `≤ ${MAX_TOKEN_CPU_S} s`,
      holds: tokenCpu <= MAX_TOKEN_CPU_S,
    },
  ];
}
