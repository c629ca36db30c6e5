/** Measures Create of a group: the row, its counts and its event in one durable commit. */
import { compare } from "../compare.ts";
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { residentMb } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serve } from "../servers.ts";

export async function restCreate(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const group = await makeScratchGroup(holt);
  try {
    const body = JSON.stringify({ name: "created", description: "By the benchmark" });
    const requests = [holt.request("POST", `/iam/v2/groups/${group}`, body)];
    const { connections } = scale;
    const [figures] = await compare("http1", [{ pid: holt.server.pid, load: { port: holt.server.port, connections, requests } }]);
    const { perSecond = Number.NaN, p99 = Number.NaN } = figures ?? {};
    const rss = await residentMb(holt.server.pid);
    const figure = `${short(perSecond)}/s, p99 ${short(p99)} ms; RSS afterwards ${short(rss)} MB`;
    return [{ measured: `REST Create of a group, ${connections} clients`, store, figure }];
  } finally {
    await removeScratchGroup(holt, group);
  }
}
