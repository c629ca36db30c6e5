/** Collects the packages of one manifest without duplicates, up to a limit, and passes them on in batches. */
import { type FoundPackage, isStorable, Unreadable } from "./found-package.ts";

const MAX_PACKAGES = 100_000;
const PACKAGES_PER_BATCH = 500;

export interface PackageCollector {
  /** @throws Unreadable if there are too many packages */
  add(found: FoundPackage): Promise<void>;
  /** Passes on the last batch. */
  flush(): Promise<void>;
  /** Number of packages that cannot be stored, by location. */
  readonly unreadable: ReadonlyMap<string, number>;
}

export function createPackageCollector(onPackages: (batch: readonly FoundPackage[]) => Promise<void>): PackageCollector {
  const known = new Set<string>();
  const unreadable = new Map<string, number>();
  let batch: FoundPackage[] = [];
  const flush = async () => {
    const ready = batch;
    batch = [];
    if (ready.length > 0) await onPackages(ready);
  };
  return {
    unreadable,
    flush,
    async add(found) {
      if (!isStorable(found)) return void unreadable.set(found.location, (unreadable.get(found.location) ?? 0) + 1);
      const key = [found.type, found.name, found.version, found.architecture, found.location].join("\n");
      if (known.has(key)) return;
      if (known.size === MAX_PACKAGES) throw new Unreadable(`there are more than ${MAX_PACKAGES} packages`);
      known.add(key);
      batch.push(found);
      if (batch.length === PACKAGES_PER_BATCH) await flush();
    },
  };
}
