/**
 * The state of collection in the database: the next run goes on where the last one stopped, and one server or command
 * collects at a time.
 */
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { createLease, RELEASED } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";

export const PHASES = ["uploads", "manifests", "links", "blobs", "orphans"] as const;
export type Phase = (typeof PHASES)[number];

export interface Counts {
  readonly uploads: number;
  readonly manifests: number;
  readonly links: number;
  readonly blobs: number;
  /** Bytes of the blobs. */
  readonly bytes: number;
}

export interface WalkProgress {
  readonly phase: Phase;
  /** The last key that was looked at. */
  readonly after: string;
  readonly counts: Counts;
}

export const BEGINNING: WalkProgress = { phase: PHASES[0], after: "", counts: { uploads: 0, manifests: 0, links: 0, blobs: 0, bytes: 0 } };

interface State {
  /** The progress of a run that has not ended. */
  readonly progress?: WalkProgress;
  /** When the last run ended. */
  readonly finished?: string;
}

const NAME = "blob_collection";
const LEASE_MS = 90_000;

/**
 * The right to collect, which ends if its progress is not saved for a while. It avoids double work. Safety does not need it, because
 * each deletion is checked in its own transaction.
 */
export interface CollectionLease {
  readonly progress: WalkProgress;
  /** False where another run has the lease by now. */
  save(progress: WalkProgress): Promise<boolean>;
  /** Releases the lease. @param progress without it, the run has ended */
  end(progress?: WalkProgress): Promise<void>;
}

/** Undefined while another run has the lease. */
export async function claimCollection(store: Store, clock: Clock): Promise<CollectionLease | undefined> {
  const lease = createLease({ store, clock, table: "server_state", key: "name", durationMs: LEASE_MS });
  const claimed = await store.transaction(async (db) => {
    const state = await lockState<State>(db, NAME, {});
    return (await lease.claim(db, [NAME])).size > 0 ? state : undefined;
  });
  if (claimed === undefined) return undefined;
  const write = async (db: WriteDb, progress: WalkProgress) => {
    const { finished } = await lockState<State>(db, NAME, {});
    await writeState<State>(db, NAME, { ...(finished !== undefined && { finished }), progress });
  };
  return {
    progress: claimed.progress ?? BEGINNING,
    save: async (progress) => (await lease.renew([NAME], (db) => write(db, progress))).size > 0,
    async end(progress) {
      await lease.hold(NAME, async (db) => {
        if (progress === undefined) await writeState<State>(db, NAME, { finished: clock.now().toISOString() });
        else await write(db, progress);
        await db.updateTable("server_state").set(RELEASED).where("name", "=", NAME).execute();
      });
    },
  };
}

/** When the last run ended. Undefined if there was none, or while an interrupted run waits to be continued. */
export async function lastFinished(db: ReadDb): Promise<Date | undefined> {
  const { progress, finished } = JSON.parse((await readState(db, NAME)) ?? "{}") as State;
  return progress !== undefined || finished === undefined ? undefined : new Date(finished);
}
