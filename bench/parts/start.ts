/** From nothing to ready on a large database, and how much memory that takes, at once and after many reads. */

import { openFilled, type StoreName } from "../data/stores.ts";
import { makeLoad, residentMb, startHolt } from "../process.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serve, stopServers } from "../servers.ts";

const STARTS = 3;
const READY_MS = 2000;
const MEMORY_MB = 200;
const READS_MS = 10_000;

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
  const [ms, mb] = [median(ready), median(memory)];
  return [
    { what: "Start", store, figure: `ready in ${short(ms)} ms`, target: `≤ ${READY_MS} ms`, holds: ms <= READY_MS },
    {
      what: "Resident memory",
      store,
      figure: `${short(mb)} MB when ready, ${short(afterReads)} MB after ${READS_MS / 1000} s of lists`,
      target: `≤ ${MEMORY_MB} MB`,
      holds: Math.max(mb, afterReads) <= MEMORY_MB,
    },
  ];
}
