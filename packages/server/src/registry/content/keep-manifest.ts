/** Keeps a manifest that a client finds instead of pushing it again, as when an index has a child that the repo has already. */
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { StoredManifest } from "./find-manifest.ts";
import { needsNewGrace } from "./grace-period.ts";
import { lockRepo } from "./lock-repo.ts";
import { touchManifests } from "./tags.ts";

/** Restarts the grace period of the manifest if half of it has passed. @returns false if collection has deleted the manifest meanwhile */
export type KeepManifest = (repoUid: string, manifest: Pick<StoredManifest, "digest" | "touchTime">) => Promise<boolean>;

export interface ManifestKeeperOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** The grace period of the collector. */
  readonly graceMs: number;
}

export function createManifestKeeper({ store, clock, graceMs }: ManifestKeeperOptions): KeepManifest {
  return async (repoUid, { digest, touchTime }) => {
    const now = clock.now();
    if (!needsNewGrace(touchTime, now, graceMs)) return true;
    return store.transaction(async (db) => {
      // Collection takes the same lock before it checks what is garbage.
      await lockRepo(db, repoUid);
      return (await touchManifests(db, repoUid, [digest], now)) > 0;
    });
  };
}
