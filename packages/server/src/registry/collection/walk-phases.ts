/** The phases of a walk through all content. Each finds one kind of garbage in batches, and gives it to the disposal. */
import type { BlobReference } from "../../blobs/references.ts";
import type { RemovedBlob } from "../../blobs/removal.ts";
import type { BlobStore, ListedBlob } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import type { Phase } from "./collection-state.ts";
import { byRepo, type Disposal } from "./disposal.ts";
import {
  type Content,
  type Cutoff,
  findLooseManifests,
  findUnknownBlobs,
  findUnlinkedBlobs,
  findUnusedLinks,
  garbageAmong,
} from "./garbage.ts";

/** Something that is deleted, or would be in a dry run. */
export type Garbage =
  | { readonly kind: "upload"; readonly uid: string }
  | { readonly kind: "manifest" | "link"; readonly repoUid: string; readonly digest: string }
  | { readonly kind: "blob"; readonly digest: string; readonly size: number };

export interface WalkPhases {
  /**
   * Walks through one batch of the phase.
   * @param after where the batch begins
   * @returns where the next batch begins; undefined at the end of the phase
   */
  step(phase: Phase, after: string): Promise<string | undefined>;
  /** Whether garbage was found that is not disposed of yet. */
  isWaiting(): boolean;
}

export interface PhaseOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
  readonly cutoff: Cutoff;
  readonly disposal: Disposal;
  /** Keys per step. */
  readonly batchSize?: number;
  onGarbage(garbage: Garbage): void;
}

/** Things per transaction that deletes: few transactions, and none that delays others. */
const DISPOSAL_SIZE = 10;

export function createWalkPhases(options: PhaseOptions): WalkPhases {
  const { store, references, cutoff, disposal, onGarbage, batchSize = 100 } = options;
  const { reader } = store;

  // Garbage that is not disposed of yet: it waits until there is enough for a transaction, or the phase ends.
  const manifests: Content[] = [];
  const links: Content[] = [];
  const unlinked: RemovedBlob[] = [];

  const steps: Readonly<Record<Phase, (after: string) => Promise<string | undefined>>> = {
    async uploads() {
      for (const uid of await disposal.uploads()) onGarbage({ kind: "upload", uid });
      return undefined;
    },
    async manifests(after) {
      const { found, next } = await findLooseManifests(reader, cutoff, { after, limit: batchSize });
      for (const [repoUid, digests] of byRepo(found)) {
        // Most untagged manifests are needed all the same, so the repo is locked only for those that are not.
        const garbage = await garbageAmong(reader, repoUid, digests, cutoff);
        manifests.push(...garbage.map((digest) => ({ repoUid, digest })));
      }
      for (const some of takeFull(manifests, next))
        for (const gone of await disposal.manifests(byRepo(some))) onGarbage({ kind: "manifest", ...gone });
      return next;
    },
    async links(after) {
      const { found, next } = await findUnusedLinks(reader, cutoff, { after, limit: batchSize }, disposal.isGone);
      links.push(...found);
      for (const some of takeFull(links, next)) for (const gone of await disposal.links(byRepo(some))) onGarbage({ kind: "link", ...gone });
      return next;
    },
    async blobs(after) {
      const { found, next } = await findUnlinkedBlobs(reader, references, { after, limit: batchSize }, disposal.goneLinks);
      unlinked.push(...found);
      for (const some of takeFull(unlinked, next))
        for (const { digest, size } of await disposal.blobs(some)) onGarbage({ kind: "blob", digest, size });
      return next;
    },
    orphans: createOrphanStep(options),
  };

  return {
    step: (phase, after) => steps[phase](after),
    isWaiting: () => manifests.length + links.length + unlinked.length > 0,
  };
}

/** Finds blobs in the store that the database does not know. A batch is one batch of the blob store's own list. */
function createOrphanStep({ store, blobs, cutoff, disposal, onGarbage }: PhaseOptions) {
  let listing: AsyncIterator<readonly ListedBlob[]> | undefined;
  return async (after: string): Promise<string | undefined> => {
    listing ??= blobs.list(after)[Symbol.asyncIterator]();
    const listed = await listing.next();
    if (listed.done) return undefined;
    const facts = new Map(listed.value.map((blob) => [blob.digest, blob.facts]));
    for (const digest of await findUnknownBlobs(store.reader, [...facts.keys()])) {
      const found = facts.get(digest) ?? (await blobs.stat(digest));
      if (found === undefined || found.time.toISOString() > cutoff) continue;
      if (await disposal.orphan(digest, found.size)) onGarbage({ kind: "blob", digest, size: found.size });
    }
    return listed.value.at(-1)?.digest;
  };
}

/** Takes full batches from the list, and at the end of the phase also the rest. */
function* takeFull<T>(waiting: T[], next: string | undefined): Iterable<T[]> {
  while (waiting.length >= DISPOSAL_SIZE || (next === undefined && waiting.length > 0)) yield waiting.splice(0, DISPOSAL_SIZE);
}
