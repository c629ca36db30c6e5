/**
 * Archives the write-ahead log of a running server: frames in segments, twice a second, and a copy of the database
 * now and then. Only this class begins a new log, after it has read all frames of the old one.
 */
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExclusiveWal, WalControl } from "../../db/wal-control.ts";
import { openWal, readWalHeader } from "../../db/wal-file.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { BackupTarget } from "../target.ts";
import { BASES, CHAINS, listBases, listSegments, type Segment, writeSegment } from "./archive-form.ts";
import { ArchiveTime } from "./archive-time.ts";
import { pinState, writeBase } from "./base-snapshot.ts";
import { type ChainEnd, findResumption, recordNextLog } from "./continue-chain.ts";
import { pruneArchive } from "./prune-archive.ts";
import { LogReplaced, WalReader } from "./wal-reader.ts";

export interface WalArchiverOptions {
  readonly target: BackupTarget;
  readonly wal: WalControl;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Versions of the program and the schema, which each base records. */
  readonly version: string;
  readonly schema: number;
  readonly retentionMs: number;
  readonly baseEveryMs?: number;
  /** Size of the log beyond which it is given up, while the archive cannot be reached. */
  readonly maxWalBytes?: number;
}

/** Between two shipments. With the time of the upload, it stays below a second. */
const SHIP_EVERY_MS = 500;
/** Precision of the times of transactions. */
const LOOK_AFTER_MS = 50;
const BASE_EVERY_MS = 24 * 3_600_000;
const BASE_CHECK_MS = 1000;
const MAX_SEGMENT_BYTES = 8 * 1024 * 1024;
/** SQLite itself begins a new log after as many frames. */
const FRAMES_PER_LOG = 1000;
const MAX_WAL_BYTES = 1024 ** 3;
const LAST_SHIPMENT_MS = 3000;
/** SQLite stores marks in 32 bits with a sign. */
const MAX_MARK = 2 ** 31;

/** An unbroken run of segments. */
interface Chain {
  readonly name: string;
  readonly reader: WalReader;
  readonly begunAt: number;
  /** Number of the next segment. */
  number: number;
  /** In the name of the last segment. */
  time: number;
  /** Rest of the previous log. */
  rest: Segment | undefined;
  baseTime: number | undefined;
}

export class WalArchiver implements AsyncDisposable {
  readonly #options: WalArchiverOptions;
  readonly #file: FileHandle;
  readonly #time: ArchiveTime;
  #chain: Chain | undefined;
  #looking: NodeJS.Timeout | undefined;
  #failures = 0;
  readonly #startedAt: number;
  readonly #shipLoop: Loop;
  readonly #baseLoop: Loop;

  private constructor(options: WalArchiverOptions, file: FileHandle) {
    const { log, wal, clock } = options;
    this.#options = options;
    this.#file = file;
    this.#time = new ArchiveTime(clock);
    this.#startedAt = clock.now().getTime();
    wal.onCommit = () => this.#lookSoon();
    this.#shipLoop = new Loop({ name: "archiving the write-ahead log", log, spacingMs: SHIP_EVERY_MS, step: () => this.#step() });
    this.#baseLoop = new Loop({ name: "archiving the database", log, spacingMs: BASE_CHECK_MS, step: () => this.#baseStep() });
  }

  static async start(options: WalArchiverOptions): Promise<WalArchiver> {
    const { wal } = options;
    const file = (await openWal(wal.path)) ?? (await wal.exclusively(async (slot) => slot.begin()).then(() => openWal(wal.path)));
    if (file === undefined) throw new Error(`${wal.path} has no write-ahead log`);
    return new WalArchiver(options, file);
  }

  /** Age of the oldest transaction that the archive cannot restore, in seconds. */
  lagSeconds(): number {
    const chain = this.#chain;
    const oldest = chain === undefined ? this.#startedAt : chain.baseTime === undefined ? chain.begunAt : oldestTime(chain);
    return oldest === undefined ? 0 : Math.max(0, this.#options.clock.now().getTime() - oldest) / 1000;
  }

  baseSeconds(): number | undefined {
    const time = this.#chain?.baseTime;
    return time === undefined ? undefined : time / 1000;
  }

  get failures(): number {
    return this.#failures;
  }

  #lookSoon(): void {
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      // The next shipment meets the same error and handles it.
      this.#chain?.reader.look().catch(() => {});
    }, LOOK_AFTER_MS).unref();
  }

  async #step(): Promise<number> {
    try {
      this.#chain ??= await this.#findChain();
      await this.#ship(this.#chain);
      if (this.#chain.reader.seen.frame >= FRAMES_PER_LOG) await this.#beginLog(this.#chain);
    } catch (error) {
      this.#failures++;
      if (error instanceof LogReplaced) this.#chain = await this.#newChain();
      else await this.#limitLog();
      throw error;
    }
    return SHIP_EVERY_MS;
  }

  async #ship(chain: Chain): Promise<void> {
    await chain.reader.look();
    if (chain.rest !== undefined) await this.#write(chain, chain.rest);
    chain.rest = undefined;
    // Only the frames that exist now: under writes that never pause, the loop would not end, and no new log would begin.
    for (const { frame } = chain.reader.seen; chain.reader.takenFrame < frame; ) {
      const segment = await chain.reader.next(MAX_SEGMENT_BYTES);
      if (segment === undefined) return;
      await this.#write(chain, segment);
      chain.reader.taken(segment);
    }
  }

  async #write(chain: Chain, segment: Segment): Promise<void> {
    const time = segment.commits.at(-1)?.time ?? chain.time;
    await writeSegment(this.#options.target, { chain: chain.name, number: chain.number, time }, segment);
    chain.number++;
    chain.time = time;
  }

  async #findChain(): Promise<Chain> {
    const { target, clock } = this.#options;
    for (const folder of [CHAINS, BASES]) await target.removeLeftovers(folder);
    const [segments, bases] = await Promise.all([listSegments(target), listBases(target)]);
    this.#time.continueBehind([...segments, ...bases]);
    const found = await findResumption(segments.at(-1), this.#options, this.#file);
    if (found === undefined) return this.#newChain();
    const { chain: name, number, time, position, header, rest } = found;
    const baseTime = bases.findLast((base) => base.chain === name)?.time;
    const reader = new WalReader(this.#file, this.#time, { header, position });
    return { name, reader, begunAt: clock.now().getTime(), number: number + 1, time, rest, baseTime };
  }

  async #newChain(): Promise<Chain> {
    return this.#options.wal.exclusively((slot) => this.#newChainIn(slot));
  }

  async #newChainIn(slot: ExclusiveWal): Promise<Chain> {
    await slot.begin();
    const header = await readWalHeader(this.#file);
    if (header === undefined) throw new LogReplaced();
    const reader = await WalReader.atEnd(this.#file, this.#time, header);
    const begunAt = this.#time.now();
    const name = `${begunAt}-${header.start.salt}`;
    return { name, reader, begunAt, number: 1, time: begunAt, rest: undefined, baseTime: undefined };
  }

  /** Keeps the end of the old log in memory, so that writers do not wait for the archive. */
  async #beginLog(chain: Chain): Promise<void> {
    const { wal, dataDir } = this.#options;
    await wal.exclusively(async (slot) => {
      const { reader } = chain;
      await reader.look();
      if (reader.untakenBytes > MAX_SEGMENT_BYTES) return;
      if (!(await slot.checkpoint())) return;
      // Another process may have written before the checkpoint. Its frames are still in the file.
      await reader.look();
      const rest = await reader.next(Number.MAX_SAFE_INTEGER);
      const after: ChainEnd = { ...reader.seen, chain: chain.name };
      const mark = (wal.mark + 1) % MAX_MARK;
      await recordNextLog(dataDir, { after, mark, rest });
      await slot.begin(mark);
      if (await reader.follow()) chain.rest = rest;
    });
  }

  /** Gives up the frames of a log that has become too large, because the archive cannot be reached. */
  async #limitLog(): Promise<void> {
    const { wal, log, maxWalBytes = MAX_WAL_BYTES } = this.#options;
    const reader = this.#chain?.reader;
    const bytes = reader === undefined ? (await this.#file.stat()).size : reader.bytes;
    if (bytes <= maxWalBytes) return;
    await wal.exclusively(async (slot) => {
      if (!(await slot.checkpoint())) return;
      await slot.begin();
      // False while a reader uses the old log. Without a chain, the archive is searched again.
      if (await this.#chain?.reader.follow()) this.#chain = await this.#newChainIn(slot);
    });
    log.error({ bytes }, "the write-ahead log was not archived and became too large: the archive has a gap until its next base");
  }

  async #baseStep(): Promise<number> {
    const { target, wal, clock, retentionMs, baseEveryMs = BASE_EVERY_MS } = this.#options;
    const chain = this.#chain;
    const now = clock.now().getTime();
    if (chain === undefined || (chain.baseTime !== undefined && now < chain.baseTime + baseEveryMs)) return BASE_CHECK_MS;
    // Fails early where the archive cannot be reached: the copy is expensive.
    await target.write(`${BASES}/probe`, Readable.from([Buffer.from(new Date(now).toISOString())]));
    const pinned = await wal.exclusively(() => pinState(wal.path, chain.reader, this.#time));
    const { time, position } = pinned;
    // A segment that is being written has this number, and perhaps frames after the base.
    const place = { chain: chain.name, nextSegment: chain.number, time, position };
    await writeBase(pinned, place, { ...this.#options, scratch: join(this.#options.dataDir, "holt.db.base") });
    if (this.#chain !== chain) return BASE_CHECK_MS;
    chain.baseTime = time;
    await pruneArchive(target, clock.now().getTime() - retentionMs, chain.name);
    return BASE_CHECK_MS;
  }

  /** Archives what was written last, if the archive answers in time. The log stays, so that the next start can continue. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { wal, log } = this.#options;
    wal.onCommit = () => {};
    clearTimeout(this.#looking);
    const loops = Promise.all([this.#shipLoop[Symbol.asyncDispose](), this.#baseLoop[Symbol.asyncDispose]()]);
    const last = loops.then(() => this.#chain && this.#ship(this.#chain));
    const outcome = await Promise.race([
      last.then(() => "archived").catch((err: unknown) => ({ err })),
      sleep(LAST_SHIPMENT_MS, "late", { ref: false }),
    ]);
    if (outcome !== "archived") log.warn({ outcome }, "the last changes are not archived yet; the next start of the server archives them");
    await this.#file.close();
  }
}

function oldestTime({ rest, reader }: Chain): number | undefined {
  return rest?.commits[0]?.time ?? reader.oldestTime;
}
