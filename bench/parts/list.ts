/** Measures the first page of a long list by name, against a bare server and against the same list of a small database. */
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { startBare } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";
import { ratioLine } from "./get.ts";

const pathOf = ({ contents }: Served) => `/iam/v2/identities?uidp.descendants_of=${contents.organization}&order_by=name&page_size=50`;

export async function restList(store: StoreName): Promise<Line[]> {
  const many = await serve(store);
  const few = await serve(store, scale.fewRows);
  await using bare = await startBare("http1", Buffer.from(await many.fetch("GET", pathOf(many))));
  const { connections } = scale;
  const loadOf = (holt: Served) => ({ port: holt.server.port, connections, requests: [holt.request("GET", pathOf(holt))] });
  const [manyFigures, bareFigures, fewFigures] = await compare("http1", [
    { pid: many.server.pid, load: loadOf(many) },
    { pid: bare.pid, load: { ...loadOf(many), port: bare.port } },
    { pid: few.server.pid, load: loadOf(few) },
  ]);
  if (manyFigures === undefined || bareFigures === undefined || fewFigures === undefined) throw new Error("figures are missing");
  const growth = manyFigures.p99 / fewFigures.p99;
  return [
    ratioLine("REST List of 50 by name below the root", store, [manyFigures, bareFigures], 0.12),
    {
      measured: `List p99 compared with ${scale.fewRows} rows`,
      store,
      figure: `${short(manyFigures.p99)} ms and ${short(fewFigures.p99)} ms: ${growth.toFixed(2)}×`,
      target: "≤ 1.5×",
      holds: growth <= 1.5,
    },
  ];
}
