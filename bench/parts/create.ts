/** Measures Create of a group: the row, its counts, its event and its audit entry in one durable commit. */
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { compareRest } from "../limit/compare.ts";
import { prepareCreate } from "../limit/create-plan.ts";
import { residentMb } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serve } from "../servers.ts";

export async function restCreate(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const group = await makeScratchGroup(holt);
  try {
    const body = JSON.stringify({ name: "created", description: "By the benchmark" });
    const path = `/iam/v2/groups/${group}`;
    const answer = await holt.fetch("POST", path, body);
    await using prepared = await prepareCreate(holt, group, answer);
    const { connections } = scale;
    const line = await compareRest({
      measured: `REST Create of a group, ${connections} clients`,
      holt,
      plan: prepared.plan,
      targets: { limit: { sqlite: 0.6, postgres: 0.6 } },
      load: { connections, requests: [holt.request("POST", path, body)] },
      answer,
      isExact: false,
    });
    const rss = await residentMb(holt.server.pid);
    return [{ ...line, figure: `${line.figure}; RSS afterwards ${short(rss)} MB` }];
  } finally {
    await removeScratchGroup(holt, group);
  }
}
