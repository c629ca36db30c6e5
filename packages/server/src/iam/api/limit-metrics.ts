/** Reports how much of their limits organizations use. The metric names no organization, so that it stays bounded. */
import { storageOf } from "../../blobs/organization-storage.ts";
import type { BlobReference } from "../../blobs/references.ts";
import { LIMITED_ROWS } from "../../db/organization-limits.ts";
import { countOf } from "../../db/resource-count.ts";
import type { Store } from "../../db/store.ts";
import type { Meter, Sample } from "../../lib/meter.ts";

/** The usage of storage reads all links of an organization. */
const READ_EVERY_MS = 15 * 60_000;
const MEGABYTE = 1_000_000;
const TABLES = Object.entries(LIMITED_ROWS) as [keyof typeof LIMITED_ROWS, string][];
const NAMES = [...TABLES.map(([, name]) => name), "storage_mb"];

export function meterLimits(meter: Meter, store: Store, references: readonly BlobReference[]): void {
  const help = "Largest share of a limit that an organization uses, of all organizations with the limit.";
  const labels = { limit: new Set(NAMES) };
  meter.read({ type: "gauge", name: "holt_organization_limit_usage_ratio", help, labels, everyMs: READ_EVERY_MS }, () =>
    largestShares(store, references),
  );
}

async function largestShares({ reader }: Store, references: readonly BlobReference[]): Promise<Sample[]> {
  const largest = new Map(NAMES.map((name) => [name, 0]));
  const limits = await reader.selectFrom("organization_limit").select(["org_uid", "name", "value"]).where("name", "in", NAMES).execute();
  for (const { org_uid: orgUid, name, value } of limits) {
    const table = TABLES.find(([, limited]) => limited === name)?.[0];
    const usage =
      table === undefined ? (await storageOf(reader, orgUid, references)) / MEGABYTE : (await countOf(reader, table, orgUid)).below;
    largest.set(name, Math.max(largest.get(name) ?? 0, usage / Number(value)));
  }
  return [...largest].map(([name, value]) => ({ value, labelValues: [name] }));
}
