/**
 * Buffers pulls and writes their events or counts in batches, so that a pull does not wait for a commit. Events of the last
 * moment are lost if the process is killed.
 */
import { isAnonymous } from "../../access/principal.ts";
import type { Store } from "../../db/store.ts";
import type { Log } from "../../lib/log.ts";
import { countPulls } from "./hourly-pulls.ts";
import { appendPulls, type Pull, type RegistryNames } from "./oci-events.ts";
import { effectiveRecording, type PullRecording, type PullRecordings, readWanted, recordingOf } from "./pull-recording.ts";

/**
 * Time between writes. Shorter means more waits for the disk; longer means larger batches, during which SQLite serves
 * no other write.
 */
const FLUSH_MS = 100;
const EVENTS_PER_TRANSACTION = 5000;
const EVENTS_PER_STATEMENT = 500;
/** Limit of the buffer. If the database is down, further events are dropped, and pulls go on. */
const MAX_WAITING = 20_000;
const MAX_WAITING_IF_ANONYMOUS = 10_000;

export interface PullEventsOptions {
  readonly store: Store;
  readonly names: RegistryNames;
  readonly log: Log;
  readonly recordings: PullRecordings;
  /** Called after pulls were counted. Must not throw. */
  readonly onCount: () => void;
}

/** Anonymous callers could fill the database with events. Their pulls are counted by hour instead, without their addresses. */
function withoutIdentity(recording: PullRecording, { origin }: Pull): PullRecording {
  return recording !== "off" && isAnonymous({ uid: origin.actor.subject }) ? "hourly" : recording;
}

function isRecorded({ type }: Pull, recording: PullRecording): boolean {
  return recording !== "off" && (recording === "blobs" || type === "manifest");
}

export class PullEvents implements AsyncDisposable {
  readonly #options: PullEventsOptions;
  #waiting: Pull[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(options: PullEventsOptions) {
    this.#options = options;
  }

  record(pull: Pull): void {
    if (!isRecorded(pull, withoutIdentity(recordingOf(this.#options.recordings, pull.repoUid), pull))) return;
    if (this.#waiting.length >= (isAnonymous({ uid: pull.origin.actor.subject }) ? MAX_WAITING_IF_ANONYMOUS : MAX_WAITING)) return;
    this.#waiting.push(pull);
    this.#timer ??= this.#schedule();
  }

  /** Resolves when all earlier events are written, or failed to be. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // The current write does not include events that were recorded after it began.
    await this.#flushing;
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
      if (this.#waiting.length > 0) this.#timer ??= this.#schedule();
    });
    return this.#flushing;
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Takes a snapshot of the buffer; draining until it is empty would never end under load. */
  async #write(): Promise<void> {
    const { store, names, log, recordings, onCount } = this.#options;
    for (let left = this.#waiting.length; left > 0; ) {
      const batch = this.#waiting.slice(0, Math.min(left, EVENTS_PER_TRANSACTION));
      let counted: readonly Pull[] = [];
      try {
        await store.transaction(async (db) => {
          const wanted = await readWanted(
            db,
            batch.map(({ repoUid }) => repoUid),
          );
          const recordingFor = (pull: Pull) => withoutIdentity(effectiveRecording(recordings, wanted, pull.repoUid), pull);
          const recorded = batch.filter((pull) => isRecorded(pull, recordingFor(pull)));
          counted = recorded.filter((pull) => recordingFor(pull) === "hourly");
          const single = recorded.filter((pull) => recordingFor(pull) !== "hourly");
          for (let start = 0; start < single.length; start += EVENTS_PER_STATEMENT)
            await appendPulls(db, single.slice(start, start + EVENTS_PER_STATEMENT), names);
          await countPulls(db, counted);
        });
        if (counted.length > 0) onCount();
      } catch (error) {
        log.error({ err: error, waiting: this.#waiting.length }, "writing the events of pulls failed");
        return;
      }
      this.#waiting = this.#waiting.slice(batch.length);
      left -= batch.length;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
  }
}
