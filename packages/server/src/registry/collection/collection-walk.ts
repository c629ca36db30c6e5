/** The way of a collection through all content, piece by piece; what becomes of the garbage it finds is a Disposal's. */

import type { BlobReference } from "../../blobs/references.ts";
import type { RemovedBlob } from "../../blobs/removal.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { type Counts, PHASES, type Phase, type Progress } from "./collection-state.ts";
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

/** Something that goes, or would go. */
export type Garbage =
  | { readonly kind: "upload"; readonly uid: string }
  | { readonly kind: "manifest" | "link"; readonly repoUid: string; readonly digest: string }
  | { readonly kind: "blob"; readonly digest: string; readonly size: number };

export interface Walk {
  /** From where it can be gone on after a crash. */
  progress(): Progress;
  /** Goes one piece further; false after the last. */
  step(): Promise<boolean>;
}

export interface WalkOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
  readonly cutoff: Cutoff;
  readonly disposal: Disposal;
  readonly progress: Progress;
  /** Keys that are looked at in one piece. */
  readonly pieceSize?: number;
  onGarbage(garbage: Garbage): void;
}

/** What is disposed of at once: few transactions, and none that others would feel. */
const DISPOSAL_SIZE = 10;

export function createWalk({ store, blobs, references, cutoff, disposal, onGarbage, pieceSize = 100, ...options }: WalkOptions): Walk {
  let { phase, after, counts }: Progress = options.progress;
  let settled = { phase, after };
  const { reader } = store;
  let listing: AsyncIterator<readonly string[]> | undefined;

  function count(garbage: Garbage): void {
    const size = garbage.kind === "blob" ? garbage.size : 0;
    const name: keyof Counts = `${garbage.kind}s`;
    counts = { ...counts, [name]: counts[name] + 1, bytes: counts.bytes + size };
    onGarbage(garbage);
  }

  // Found, and not disposed of yet: until there are enough for a transaction, or the phase ends.
  const manifests: Content[] = [];
  const links: Content[] = [];
  const unlinked: RemovedBlob[] = [];

  const pieces: Readonly<Record<Phase, () => Promise<string | undefined>>> = {
    async uploads() {
      for (const uid of await disposal.uploads()) count({ kind: "upload", uid });
      return undefined;
    },
    async manifests() {
      const { found, next } = await findLooseManifests(reader, cutoff, after, pieceSize);
      for (const [repoUid, digests] of byRepo(found)) {
        // Most of what is not tagged is needed all the same, and the repo is not locked for that.
        const garbage = await garbageAmong(reader, repoUid, digests, cutoff);
        manifests.push(...garbage.map((digest) => ({ repoUid, digest })));
      }
      for (const some of full(manifests, next))
        for (const gone of await disposal.manifests(byRepo(some))) count({ kind: "manifest", ...gone });
      return next;
    },
    async links() {
      const { found, next } = await findUnusedLinks(reader, cutoff, after, pieceSize, disposal.isGone);
      links.push(...found);
      for (const some of full(links, next)) for (const gone of await disposal.links(byRepo(some))) count({ kind: "link", ...gone });
      return next;
    },
    async blobs() {
      const { found, next } = await findUnlinkedBlobs(reader, references, { after, limit: pieceSize }, disposal.goneLinks);
      unlinked.push(...found);
      for (const some of full(unlinked, next))
        for (const { digest, size } of await disposal.blobs(some)) count({ kind: "blob", digest, size });
      return next;
    },
    /** A piece is what the store lists at once. */
    async orphans() {
      listing ??= blobs.list(after)[Symbol.asyncIterator]();
      const listed = await listing.next();
      if (listed.done) return undefined;
      for (const digest of await findUnknownBlobs(reader, listed.value)) {
        const found = await blobs.stat(digest);
        if (found === undefined || found.time.toISOString() > cutoff) continue;
        if (await disposal.orphan(digest, found.size)) count({ kind: "blob", digest, size: found.size });
      }
      return listed.value.at(-1);
    },
  };

  return {
    progress: () => ({ ...settled, counts }),
    async step() {
      const next = await pieces[phase]();
      const following = PHASES[PHASES.indexOf(phase) + 1];
      if (next === undefined && following === undefined) return false;
      [phase, after] = next === undefined ? [following ?? phase, START] : [phase, next];
      if (manifests.length + links.length + unlinked.length === 0) settled = { phase, after };
      return true;
    },
  };
}

/** Takes out of the list what is to be disposed of now. */
function* full<T>(waiting: T[], next: string | undefined): Iterable<T[]> {
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
