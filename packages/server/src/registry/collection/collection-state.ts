/** How far a collection has come, in the database: so the next one goes on where one was cut short, and servers that share a database do not collect at once. */
import { randomUUID } from "node:crypto";
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import { systemClock } from "../../lib/clock.ts";

export const PHASES = ["uploads", "manifests", "links", "blobs", "orphans"] as const;
export type Phase = (typeof PHASES)[number];

export interface Counts {
  readonly uploads: number;
  readonly manifests: number;
  readonly links: number;
  readonly blobs: number;
  /** Of the blobs. */
  readonly bytes: number;
}

export interface Progress {
  readonly phase: Phase;
  /** The last key that was looked at. */
  readonly after: string;
  readonly counts: Counts;
}

export const BEGINNING: Progress = { phase: PHASES[0], after: "", counts: { uploads: 0, manifests: 0, links: 0, blobs: 0, bytes: 0 } };

interface State {
  /** Who collects until when. Not for safety, which every step has from its own transaction: two at once would only do the work twice. */
  readonly holder?: string;
  readonly until?: string;
  /** Of a run that has not ended. */
  readonly progress?: Progress;
  /** When the last run ended. */
  readonly finished?: string;
}

const NAME = "blob_collection";
const LEASE_MS = 90_000;

/** The right to collect, as long as it is saved now and then. */
export interface Lease {
  readonly progress: Progress;
  /** False where somebody else has taken it. */
  save(progress: Progress): Promise<boolean>;
  /** Gives the lease back. Without progress, the run has ended. */
  end(progress?: Progress): Promise<void>;
}

/** Undefined while another has it. */
export async function takeLease(store: Store): Promise<Lease | undefined> {
  const holder = randomUUID();
  const taken = await store.transaction(async (db) => {
    const state = await lockState<State>(db, NAME, {});
    if (state.until !== undefined && state.until > systemClock.now().toISOString()) return undefined;
    return writeState<State>(db, NAME, { ...state, holder, until: leaseEnd() });
  });
  if (taken === undefined) return undefined;
  const change = (next: (state: State) => State) =>
    store.transaction(async (db) => {
      const state = await lockState<State>(db, NAME, {});
      if (state.holder !== holder) return false;
      await writeState(db, NAME, next(state));
      return true;
    });
  return {
    progress: taken.progress ?? BEGINNING,
    save: (progress) => change((state) => ({ ...state, until: leaseEnd(), progress })),
    async end(progress) {
      const finished = systemClock.now().toISOString();
      await change((state) => (progress === undefined ? { finished } : { ...(state.finished && { finished: state.finished }), progress }));
    },
  };
}

/** When the last run ended; undefined where there was none, or one was cut short and should go on. */
export async function lastFinished(db: ReadDb): Promise<Date | undefined> {
  const { progress, finished } = JSON.parse((await readState(db, NAME)) ?? "{}") as State;
  return progress !== undefined || finished === undefined ? undefined : new Date(finished);
}

function leaseEnd(): string {
  return new Date(systemClock.now().getTime() + LEASE_MS).toISOString();
}
