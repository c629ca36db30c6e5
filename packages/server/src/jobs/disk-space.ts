/**
 * Watches the free space of the disk with the data, and refuses growth while there is too little. SQLite needs space for
 * every transaction, also for those that delete, so a full disk could not be emptied by calls.
 */
import { statfs } from "node:fs/promises";
import { HoltError, unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { Loop } from "./loop.ts";

export interface DiskSpaceOptions {
  /** Any folder on the disk. */
  readonly folder: string;
  /** 0 to refuse nothing. */
  readonly minFreeBytes: number;
  readonly log: Log;
}

/** Large uploads fill a disk at a gigabyte per second at the most. */
const INTERVAL_MS = 500;
const RETRY_AFTER_SECONDS = 30;

export class DiskSpace implements AsyncDisposable {
  readonly #options: DiskSpaceOptions;
  readonly #loop: Loop | undefined;
  #freeBytes = Number.POSITIVE_INFINITY;
  #isLow = false;

  constructor(options: DiskSpaceOptions) {
    this.#options = options;
    const step = async () => {
      await this.#measure();
      return INTERVAL_MS;
    };
    if (options.minFreeBytes > 0)
      this.#loop = new Loop({ name: "measuring the free disk space", log: options.log, spacingMs: INTERVAL_MS, step });
  }

  /** Knows the free space from the beginning. */
  static async start(options: DiskSpaceOptions): Promise<DiskSpace> {
    const space = new DiskSpace(options);
    if (options.minFreeBytes > 0) await space.#measure();
    return space;
  }

  /**
   * @param bytes that the work is known to store
   * @throws UNAVAILABLE if too little space would be left
   */
  assertFor(bytes = 0): void {
    const { minFreeBytes } = this.#options;
    if (minFreeBytes === 0 || this.#freeBytes - bytes >= minFreeBytes) return;
    const { code, message } = unavailable(this.#text());
    throw new HoltError(code, message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  /** Undefined while there is enough space. */
  problem(): string | undefined {
    return this.#isLow ? this.#text() : undefined;
  }

  #text(): string {
    const megabytes = (bytes: number) => `${Math.floor(bytes / 1_000_000)} MB`;
    return `the server's disk is nearly full: ${megabytes(this.#freeBytes)} are free, and it keeps ${megabytes(this.#options.minFreeBytes)} free. Writes are refused; reads and deletions go on`;
  }

  async #measure(): Promise<void> {
    const { folder, minFreeBytes, log } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    this.#freeBytes = bavail * bsize;
    const isLow = this.#freeBytes < minFreeBytes;
    if (isLow && !this.#isLow) log.error({ freeBytes: this.#freeBytes, minFreeBytes }, "the disk is nearly full: writes are refused");
    if (!isLow && this.#isLow) log.info({ freeBytes: this.#freeBytes }, "the disk has space again: writes are served");
    this.#isLow = isLow;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
  }
}
