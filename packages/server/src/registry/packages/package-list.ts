/** Collects the packages of one manifest: each once, those that can be kept, no more than may be; hands them on some at a time. */
import { type FoundPackage, isKeepable, Unreadable } from "./found-package.ts";

export const MAX_PACKAGES = 100_000;
const BATCH = 500;

export interface PackageList {
  /** @throws Unreadable where there are too many */
  add(found: FoundPackage): Promise<void>;
  /** Hands on what is left. */
  flush(): Promise<void>;
  /** How many were named that could not be kept, by location. */
  readonly unreadable: ReadonlyMap<string, number>;
}

export function createPackageList(onPackages: (batch: readonly FoundPackage[]) => Promise<void>): PackageList {
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
      if (!isKeepable(found)) return void unreadable.set(found.location, (unreadable.get(found.location) ?? 0) + 1);
      const key = [found.type, found.name, found.version, found.architecture, found.location].join("\n");
      if (known.has(key)) return;
      if (known.size === MAX_PACKAGES) throw new Unreadable(`there are more than ${MAX_PACKAGES} packages`);
      known.add(key);
      batch.push(found);
      if (batch.length === BATCH) await flush();
    },
  };
}
