/** Measures the cost of the audit entry of a write: the same call to servers with and without the audit log. */
import { compare, type Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { contender, figureOf, percent, relativeCost, without } from "./outbox-cost.ts";
import { startEventServer } from "./servers.ts";

const MAX_COST = 0.1;

export async function auditCost(store: StoreName): Promise<Line[]> {
  await using complete = await startEventServer(store, "audited");
  await using appending = await startEventServer(store, "appending", without("no-sealing"));
  await using unaudited = await startEventServer(store, "unaudited", without("no-audit"));
  const contenders = [complete, appending, unaudited].map(contender);
  const [completeFigures, appendingFigures, unauditedFigures] = (await compare("http1", contenders)) as [Figures, Figures, Figures];
  const load = `${scale.connections} clients creating groups`;
  const cost = relativeCost(unauditedFigures, appendingFigures);
  const sealed = relativeCost(unauditedFigures, completeFigures);
  return [
    {
      measured: `Cost of the audit entry in the transaction, ${load}`,
      store,
      figure: `${percent(cost)}, ${figureOf(unauditedFigures, appendingFigures)}`,
      target: `≤ ${percent(MAX_COST)}`,
      holds: cost <= MAX_COST,
    },
    {
      measured: `Cost of the audit entry and its sealing, ${load}`,
      store,
      figure: `${percent(sealed)}, ${figureOf(unauditedFigures, completeFigures)}`,
      target: `≤ ${percent(MAX_COST)}`,
      holds: sealed <= MAX_COST,
    },
  ];
}
