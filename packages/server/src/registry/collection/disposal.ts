/**
 * Deletes the garbage that a collection has found, or in a dry run only reports it.
 *
 * The transaction that deletes garbage checks again that it is garbage. It locks the repo's row first, as pushes, tags
 * and deletions in a repo do, so nothing changes between the check and the deletion. `blobs/removal.ts` deletes blobs.
 */

import type { BlobReference } from "../../blobs/references.ts";
import { createBlobRemoval, type RemovedBlob } from "../../blobs/removal.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { Log } from "../../lib/log.ts";
import { lockRepo } from "../content/lock-repo.ts";
import { chunkManifests } from "../content/manifest-chunks.ts";
import type { Uploads } from "../content/uploads.ts";
import { type Content, type Cutoff, garbageAmong } from "./garbage.ts";

/** Digests by repo. */
type ByRepo = ReadonlyMap<string, readonly string[]>;

/** Each method returns what it deleted of what was found. With manifests it deletes the manifests that need them. */
export interface Disposal {
  uploads(): Promise<readonly string[]>;
  manifests(found: ByRepo): Promise<readonly Content[]>;
  links(found: ByRepo): Promise<readonly Content[]>;
  blobs(found: readonly RemovedBlob[]): Promise<readonly RemovedBlob[]>;
  orphan(digest: string, size: number): Promise<boolean>;
  /** Blobs that were not deleted because the blob store failed. */
  failures(): number;
  /** In a dry run: content that counts as deleted. */
  readonly isGone?: (manifest: Content) => boolean;
  readonly goneLinks?: ReadonlyMap<string, number>;
}

export interface DisposalOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
  readonly uploads: Uploads;
  readonly cutoff: Cutoff;
  readonly log: Log;
}

/** Blobs that a run may fail to delete. Others are deleted all the same, but more failures mean that the blob store is down. */
const MAX_FAILURES = 20;

export function createDisposal(options: DisposalOptions): Disposal {
  const { store, uploads, cutoff, log } = options;
  let failures = 0;
  const onFailure = (digest: string, reason: unknown): void => {
    if (++failures > MAX_FAILURES) throw reason;
    log.warn({ err: reason, digest }, "a blob was not deleted; the next collection tries again");
  };
  const removal = createBlobRemoval({ ...options, onFailure });
  return {
    async uploads() {
      const stale = await uploads.findStale();
      for (const uid of stale) await uploads.cancel({ uid });
      return stale;
    },
    async manifests(found) {
      const gone: Content[] = [];
      for (const chunk of await chunksOf(store.reader, found))
        gone.push(...(await inEachRepo(store, chunk, (db, repoUid, digests) => removeManifests(db, repoUid, digests, cutoff))));
      return gone;
    },
    links: (found) => inEachRepo(store, found, (db, repoUid, digests) => removeLinks(db, repoUid, digests, cutoff)),
    blobs(found) {
      const digests = found.map(({ digest }) => digest);
      return removal.removeUnlinked(digests);
    },
    orphan: removal.removeOrphan,
    failures: () => failures,
  };
}

async function chunksOf(db: ReadDb, found: ByRepo): Promise<readonly ByRepo[]> {
  const sizes: (Content & { readonly size: number })[] = [];
  for (const [repoUid, digests] of found) {
    const wanted = db.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value");
    const query = db.selectFrom("manifest").select(["digest", "size"]).where("repo_uid", "=", repoUid).where("digest", "in", wanted);
    for (const { digest, size } of await query.execute()) sizes.push({ repoUid, digest, size });
  }
  return chunkManifests(sizes).map((chunk) => byRepo(chunk));
}

export function byRepo(contents: readonly Content[]): ByRepo {
  const repos = Map.groupBy(contents, ({ repoUid }) => repoUid);
  return new Map([...repos].map(([repoUid, some]) => [repoUid, some.map(({ digest }) => digest)]));
}

type Remove = (db: WriteDb, repoUid: string, digests: readonly string[]) => Promise<readonly { readonly digest: string }[]>;

/** All in one transaction. */
function inEachRepo(store: Store, found: ByRepo, remove: Remove): Promise<readonly Content[]> {
  return store.transaction(async (db) => {
    const gone: Content[] = [];
    // In the same order on all servers, to avoid deadlocks.
    for (const [repoUid, digests] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
      // A repo that was deleted meanwhile has no content left.
      await lockRepo(db, repoUid);
      for (const { digest } of await remove(db, repoUid, digests)) gone.push({ repoUid, digest });
    }
    return gone;
  });
}

async function removeManifests(db: WriteDb, repoUid: string, digests: readonly string[], cutoff: Cutoff): ReturnType<Remove> {
  const garbage = await garbageAmong(db, repoUid, digests, cutoff);
  return db
    .deleteFrom("manifest")
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(garbage).as("d")).select("d.value"))
    .returning("digest")
    .execute();
}

async function removeLinks(db: WriteDb, repoUid: string, digests: readonly string[], cutoff: Cutoff): ReturnType<Remove> {
  return (
    db
      .deleteFrom("repo_blob")
      .where("repo_uid", "=", repoUid)
      .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(digests).as("d")).select("d.value"))
      // A transaction that links the blob again does not lock the repo, but changes this time.
      .where("touch_time", "<=", cutoff)
      .where(({ not, exists, selectFrom }) => {
        const user = selectFrom("manifest_reference as r").select("r.digest");
        return not(exists(user.whereRef("r.repo_uid", "=", "repo_blob.repo_uid").whereRef("r.digest", "=", "repo_blob.digest")));
      })
      .returning("digest")
      .execute()
  );
}

/** Deletes nothing. Remembers what would be deleted, because other content would become garbage by that. */
export function createDryRun({ store, uploads, cutoff }: DisposalOptions): Disposal {
  const manifests = new Set<string>();
  const links = new Map<string, number>();
  const keyOf = (repoUid: string, digest: string) => `${repoUid} ${digest}`;
  return {
    uploads: () => uploads.findStale(),
    async manifests(found) {
      const added: Content[] = [];
      for (const [repoUid, digests] of found) {
        for (const digest of await garbageAmong(store.reader, repoUid, digests, cutoff)) {
          if (manifests.has(keyOf(repoUid, digest))) continue;
          manifests.add(keyOf(repoUid, digest));
          added.push({ repoUid, digest });
        }
      }
      return added;
    },
    async links(found) {
      const added = [...found].flatMap(([repoUid, digests]) => digests.map((digest) => ({ repoUid, digest })));
      for (const { digest } of added) links.set(digest, (links.get(digest) ?? 0) + 1);
      return added;
    },
    blobs: async (found) => found,
    orphan: async () => true,
    failures: () => 0,
    isGone: ({ repoUid, digest }) => manifests.has(keyOf(repoUid, digest)),
    goneLinks: links,
  };
}
