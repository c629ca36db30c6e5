/** Fetches feeds that are due, some at a time; what has changed becomes an import that waits. */

import { find } from "../../api/resource/get.ts";
import type { Store } from "../../db/store.ts";
import { parseSession } from "../../iam/identities/stored-session.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Log } from "../../lib/log.ts";
import { parentOf, rootOf } from "../../lib/uid.ts";
import { type RightsDependencies, rightsOf } from "../import/remote/import-rights.ts";
import { kinds } from "../import/remote/import-row.ts";
import { type DownloadOptions, downloadFeed } from "./feed-download.ts";
import { type ClaimedRun, createMirrorLeases, type MirrorLeases } from "./mirror-leases.ts";
import { advisoryMirrors } from "./mirror-resource.ts";
import { attemptEnded, type Fetched } from "./mirror-schedule.ts";

export interface MirrorOptions extends DownloadOptions, RightsDependencies {
  readonly store: Store;
  readonly log: Log;
  /** There is an import to run. */
  onImport(): void;
}

/** Fetches at once: of a server, and of one organization, so that one whose feeds are slow leaves room for the others. */
const MAX_FETCHES = 8;
const MAX_OF_ORGANIZATION = 2;
const POLL_MS = 1000;
const SPACING_MS = 10;
const RENEW_MS = 5000;

interface Fetch {
  readonly orgUid: string;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class MirrorWorker implements AsyncDisposable {
  readonly #options: MirrorOptions;
  readonly #leases: MirrorLeases;
  /** By their claims. */
  readonly #fetches = new Map<string, Fetch>();
  readonly #loop: Loop;
  readonly #renewal: Loop;
  #isBegun = false;
  #isClosed = false;

  constructor(options: MirrorOptions) {
    const { log, store, clock } = options;
    this.#options = options;
    this.#leases = createMirrorLeases(store, clock);
    this.#loop = new Loop({ name: "looking for feeds", log, spacingMs: SPACING_MS, step: () => this.#step() });
    this.#renewal = new Loop({ name: "renewing fetches", log, spacingMs: RENEW_MS, step: () => this.#renew() });
  }

  /** There may be something to fetch. */
  wake(): void {
    this.#loop.wake();
  }

  async #step(): Promise<number> {
    if (!this.#isBegun && this.#options.store.dialect.notify === undefined) await this.#leases.releaseForeign();
    this.#isBegun = true;
    const room = MAX_FETCHES - this.#fetches.size;
    if (room === 0 || this.#isClosed) return POLL_MS;
    const held = new Map<string, number>();
    for (const { orgUid } of this.#fetches.values()) held.set(orgUid, (held.get(orgUid) ?? 0) + 1);
    const full = [...held].flatMap(([orgUid, count]) => (count >= MAX_OF_ORGANIZATION ? orgUid : []));
    const claimed = await this.#leases.claim(room, full, (orgUid) => {
      const count = (held.get(orgUid) ?? 0) + 1;
      if (count <= MAX_OF_ORGANIZATION) held.set(orgUid, count);
      return count <= MAX_OF_ORGANIZATION;
    });
    for (const run of claimed) this.#begin(run);
    return claimed.length > 0 ? 0 : POLL_MS;
  }

  #begin(run: ClaimedRun): void {
    const stop = new AbortController();
    if (this.#isClosed) stop.abort();
    const ended = this.#run(run, stop.signal)
      .catch((error: unknown) => {
        // Its lease runs out, and it is due again.
        this.#options.log.error({ err: error, mirror: run.mirror_uid }, "a feed could not be fetched; it is tried again");
      })
      .finally(() => {
        this.#fetches.delete(run.file);
        this.wake();
      });
    this.#fetches.set(run.file, { orgUid: rootOf(run.mirror_uid), stop, ended });
  }

  async #run(run: ClaimedRun, signal: AbortSignal): Promise<void> {
    const { store, files, clock, onImport } = this.#options;
    const begun = clock.now();
    let isKept = false;
    try {
      const fetched = await this.#fetch(run, signal);
      if (fetched === undefined) return await this.#leases.release(run.file);
      isKept = await store.transaction((db) => attemptEnded(db, run.mirror_uid, run.file, fetched, begun, clock.now()));
      if (isKept) onImport();
    } finally {
      if (!isKept) await files.remove(run.file);
    }
  }

  async #fetch(run: ClaimedRun, signal: AbortSignal): Promise<Fetched | undefined> {
    const uid = run.mirror_uid;
    const mirror = await find(advisoryMirrors, uid, this.#options.store.reader);
    if (mirror === undefined) return undefined;
    const destination = { parent: parentOf(uid), kind: kinds.get(mirror.kind) ?? "advisories" };
    const { mayImport } = await rightsOf(destination, parseSession(run.session), this.#options);
    const error = "the identity that it acts for may not import this any more: who may can set the url again";
    if (!mayImport) return { outcome: "failed", status: 0, error, retryAfterMs: 0 };
    return downloadFeed({ ...run, url: mirror.url }, run.file, this.#options, signal);
  }

  async #renew(): Promise<number> {
    const before = [...this.#fetches];
    if (before.length > 0) {
      const held = await this.#leases.renew(before.map(([file]) => file));
      // Who changed or deleted the mirror took its claim away.
      for (const [file, { stop }] of before) if (!held.has(file)) stop.abort();
    }
    return RENEW_MS;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { stop } of this.#fetches.values()) stop.abort();
    await this.#loop[Symbol.asyncDispose]();
    await Promise.all([...this.#fetches.values()].map(({ ended }) => ended));
    await this.#renewal[Symbol.asyncDispose]();
  }
}
