/**
 * Runs all parts of the benchmark or the named ones: `npm run bench -- [--store sqlite|postgres] [part …]`. README.md
 * describes the parts.
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { advisoryParts } from "./advisories/parts.ts";
import { auditLists } from "./audit/lists.ts";
import { consoleParts } from "./console/parts.ts";
import type { StoreName } from "./data/stores.ts";
import { eventParts } from "./events/parts.ts";
import { fleetParts } from "./fleet/fleet.ts";
import { growth } from "./growth/growth.ts";
import { importAdvisories } from "./import/import.ts";
import { libraryParts } from "./libraries/parts.ts";
import { accounts } from "./parts/accounts.ts";
import { authorization } from "./parts/authorization.ts";
import { restCreate } from "./parts/create.ts";
import { deepLists } from "./parts/deep-lists.ts";
import { exchange } from "./parts/exchange.ts";
import { grpcGet, restGet } from "./parts/get.ts";
import { grpcList, restList } from "./parts/list.ts";
import { metricsCost } from "./parts/metrics-cost.ts";
import { processesParts } from "./parts/processes.ts";
import { pullTokens } from "./parts/pull-tokens.ts";
import { start } from "./parts/start.ts";
import { startBuilt } from "./parts/start-built.ts";
import { versionOne } from "./parts/version-one.ts";
import { PEER_REGISTRY_PARTS, peerParts } from "./peers/parts.ts";
import { registryParts } from "./registry/parts.ts";
import { type Line, printLines } from "./report.ts";
import { scale } from "./scale.ts";
import { closeAll, stopServers } from "./servers.ts";

const parts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  start,
  "start-built": startBuilt,
  "rest-get": restGet,
  "grpc-get": grpcGet,
  list: restList,
  "grpc-list": grpcList,
  deep: deepLists,
  exchange,
  "pull-tokens": pullTokens,
  accounts,
  create: restCreate,
  "version-one": versionOne,
  "metrics-cost": metricsCost,
  authorization,
  import: importAdvisories,
  fleet: fleetParts,
  growth,
  "audit-lists": auditLists,
  processes: processesParts,
  ...registryParts,
  ...eventParts,
  ...advisoryParts,
  ...libraryParts,
  ...peerParts,
  ...consoleParts,
};
/** Names that select several parts. */
const groups: Readonly<Record<string, readonly string[]>> = {
  registry: Object.keys(registryParts),
  events: Object.keys(eventParts),
  advisories: Object.keys(advisoryParts),
  libraries: Object.keys(libraryParts),
  /** The sizes of data that the console and the audit log must bear. */
  scale: ["registry-lists", "audit-lists"],
  peers: [...Object.keys(peerParts), ...PEER_REGISTRY_PARTS],
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { store: { type: "string" } } });
const chosen = positionals.length === 0 ? Object.keys(parts) : positionals.flatMap((name) => groups[name] ?? [name]);
const unknown = chosen.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0)
  throw new Error(`unknown part ${unknown.join(", ")}; expected ${[...Object.keys(groups), ...Object.keys(parts)].join(", ")}`);

const processors = cpus();
const machine = `Node ${process.version}, ${processors.length} × ${processors[0]?.model}`;
const today = new Date().toISOString().slice(0, 10);
console.log(`${machine}, ${today}; ${scale.rows} identities, ${scale.rounds} rounds\n`);
const lines: Line[] = [];
try {
  for (const store of values.store === undefined ? (["sqlite", "postgres"] as const) : [values.store as StoreName]) {
    for (const name of chosen) {
      const started = performance.now();
      lines.push(...(await parts[name]!(store)));
      console.log(`  ${store} ${name}: ${Math.round((performance.now() - started) / 1000)} s`);
    }
    await stopServers();
  }
} finally {
  // Also those before a part that failed.
  console.log();
  printLines(lines);
  await closeAll();
}
