/** Walks through all content in small steps, and gives the garbage that it finds to a Disposal. */

import type { BlobReference } from "../../blobs/references.ts";
import type { RemovedBlob } from "../../blobs/removal.ts";
import type { BlobStore, ListedBlob } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { type Counts, PHASES, type Phase, type WalkProgress } from "./collection-state.ts";
import type { Disposal } from "./disposal.ts";
import {
  type Content,
  type Cutoff,
  findLooseManifests,
  findUnknownBlobs,
  findUnlinkedBlobs,
  findUnusedLinks,
  garbageAmong,
  START,
} from "./garbage.ts";

/** Something that is deleted, or would be in a dry run. */
export type Garbage =
  | { readonly kind: "upload"; readonly uid: string }
  | { readonly kind: "manifest" | "link"; readonly repoUid: string; readonly digest: string }
  | { readonly kind: "blob"; readonly digest: string; readonly size: number };

export interface Walk {
  /** Where the next walk can go on after a crash. */
  progress(): WalkProgress;
  /** Walks through one more batch; false after the last. */
  step(): Promise<boolean>;
}

export interface WalkOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
  readonly cutoff: Cutoff;
  readonly disposal: Disposal;
  readonly progress: WalkProgress;
  /** Keys per step. */
  readonly batchSize?: number;
  onGarbage(garbage: Garbage): void;
}

/** Things per transaction that deletes: few transactions, and none that delays others. */
const DISPOSAL_SIZE = 10;

export function createWalk({ store, blobs, references, cutoff, disposal, onGarbage, batchSize = 100, ...options }: WalkOptions): Walk {
  let { phase, after, counts }: WalkProgress = options.progress;
  let settled = { phase, after };
  const { reader } = store;
  let listing: AsyncIterator<readonly ListedBlob[]> | undefined;

  function count(garbage: Garbage): void {
    const size = garbage.kind === "blob" ? garbage.size : 0;
    const name: keyof Counts = `${garbage.kind}s`;
    counts = { ...counts, [name]: counts[name] + 1, bytes: counts.bytes + size };
    onGarbage(garbage);
  }

  // Garbage that is not disposed of yet: it waits until there is enough for a transaction, or the phase ends.
  const manifests: Content[] = [];
  const links: Content[] = [];
  const unlinked: RemovedBlob[] = [];

  const steps: Readonly<Record<Phase, () => Promise<string | undefined>>> = {
    async uploads() {
      for (const uid of await disposal.uploads()) count({ kind: "upload", uid });
      return undefined;
    },
    async manifests() {
      const { found, next } = await findLooseManifests(reader, cutoff, { after, limit: batchSize });
      for (const [repoUid, digests] of byRepo(found)) {
        // Most untagged manifests are needed all the same, so the repo is locked only for those that are not.
        const garbage = await garbageAmong(reader, repoUid, digests, cutoff);
        manifests.push(...garbage.map((digest) => ({ repoUid, digest })));
      }
      for (const some of takeFull(manifests, next))
        for (const gone of await disposal.manifests(byRepo(some))) count({ kind: "manifest", ...gone });
      return next;
    },
    async links() {
      const { found, next } = await findUnusedLinks(reader, cutoff, { after, limit: batchSize }, disposal.isGone);
      links.push(...found);
      for (const some of takeFull(links, next)) for (const gone of await disposal.links(byRepo(some))) count({ kind: "link", ...gone });
      return next;
    },
    async blobs() {
      const { found, next } = await findUnlinkedBlobs(reader, references, { after, limit: batchSize }, disposal.goneLinks);
      unlinked.push(...found);
      for (const some of takeFull(unlinked, next))
        for (const { digest, size } of await disposal.blobs(some)) count({ kind: "blob", digest, size });
      return next;
    },
    /** A batch is what the store lists at once. */
    async orphans() {
      listing ??= blobs.list(after)[Symbol.asyncIterator]();
      const listed = await listing.next();
      if (listed.done) return undefined;
      const facts = new Map(listed.value.map((blob) => [blob.digest, blob.facts]));
      for (const digest of await findUnknownBlobs(reader, [...facts.keys()])) {
        const found = facts.get(digest) ?? (await blobs.stat(digest));
        if (found === undefined || found.time.toISOString() > cutoff) continue;
        if (await disposal.orphan(digest, found.size)) count({ kind: "blob", digest, size: found.size });
      }
      return listed.value.at(-1)?.digest;
    },
  };

  return {
    progress: () => ({ ...settled, counts }),
    async step() {
      const next = await steps[phase]();
      const following = PHASES[PHASES.indexOf(phase) + 1];
      if (next === undefined && following === undefined) return false;
      [phase, after] = next === undefined ? [following ?? phase, START] : [phase, next];
      if (manifests.length + links.length + unlinked.length === 0) settled = { phase, after };
      return true;
    },
  };
}

/** Removes from the list what is to be disposed of now. */
function* takeFull<T>(waiting: T[], next: string | undefined): Iterable<T[]> {
  while (waiting.length >= DISPOSAL_SIZE || (next === undefined && waiting.length > 0)) yield waiting.splice(0, DISPOSAL_SIZE);
}

function byRepo(contents: readonly Content[]): ReadonlyMap<string, readonly string[]> {
  const repos = new Map<string, string[]>();
  for (const { repoUid, digest } of contents) {
    const digests = repos.get(repoUid);
    if (digests === undefined) repos.set(repoUid, [digest]);
    else digests.push(digest);
  }
  return repos;
}
