/** Splits packages, so that what advisories say about those of a chunk fits into memory. Pure. */
import { chunksBySize } from "../../lib/chunks-by-size.ts";
import type { MatchedPackageTable } from "../tables.ts";

/** Statements of advisories about packages that are in memory at a time. Those about one package always are. */
export const MAX_CANDIDATES = 20_000;

type Keyed = Pick<MatchedPackageTable, "match_name" | "match_origin">;

/** @param counts numbers of advisories by key */
export function chunkByCandidates<Package extends Keyed>(packages: readonly Package[], counts: ReadonlyMap<string, number>): Package[][] {
  const sizeOf = (one: Package) => keysOf(one).reduce((sum, key) => sum + (counts.get(key) ?? 0), 0);
  // Packages of the same source share their advisories, but each has statements of its own.
  const sorted = packages.toSorted((a, b) => (a.match_origin < b.match_origin ? -1 : 1));
  return chunksBySize(sorted, { sizeOf, maxSize: MAX_CANDIDATES });
}

/** The keys of the advisories about a package. */
export function keysOf({ match_name, match_origin }: Keyed): readonly string[] {
  return match_name === match_origin ? [match_name] : [match_name, match_origin];
}
