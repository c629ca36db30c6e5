/**
 * Watches the free space of the disks with the data and the blobs, and refuses growth while one has too little. SQLite needs
 * space for every transaction, also for those that delete, so a full disk could not be emptied by calls.
 */
import { stat, statfs } from "node:fs/promises";
import { HoltError, unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { Loop } from "./loop.ts";

export type DiskFolder = "data" | "blobs";

export interface FreeSpace {
  readonly folder: DiskFolder;
  readonly freeBytes: number;
}

export interface DiskSpaceOptions {
  /** Paths of the folders by name. A folder on the disk of an earlier one is not measured. */
  readonly folders: Readonly<Partial<Record<DiskFolder, string>>>;
  /** 0 to refuse nothing. */
  readonly minFreeBytes: number;
  readonly log: Log;
}

/** Large uploads fill a disk at a gigabyte per second at the most. */
const INTERVAL_MS = 500;
const RETRY_AFTER_SECONDS = 30;

export class DiskSpace implements AsyncDisposable {
  readonly #options: DiskSpaceOptions;
  readonly #disks: readonly Disk[];
  readonly #loop: Loop | undefined;
  /** Free space of the disk that has the least. */
  #freeBytes = Number.POSITIVE_INFINITY;
  #isLow = false;

  private constructor(options: DiskSpaceOptions, disks: readonly Disk[]) {
    this.#options = options;
    this.#disks = disks;
    const step = async () => {
      await this.#measure();
      return INTERVAL_MS;
    };
    if (options.minFreeBytes > 0)
      this.#loop = new Loop({ name: "measuring the free disk space", log: options.log, spacingMs: INTERVAL_MS, step });
  }

  /** Knows the free space from the beginning. */
  static async start(options: DiskSpaceOptions): Promise<DiskSpace> {
    const space = new DiskSpace(options, await findDisks(options.folders));
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

  /** Free space below which writes are refused; 0 to refuse nothing. */
  get minFreeBytes(): number {
    return this.#options.minFreeBytes;
  }

  /** The free space of each disk now. */
  read(): Promise<FreeSpace[]> {
    return Promise.all(
      this.#disks.map(async ({ folder, path }) => {
        const { bavail, bsize } = await statfs(path);
        return { folder, freeBytes: bavail * bsize };
      }),
    );
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
    const { minFreeBytes, log } = this.#options;
    const [least] = (await this.read()).toSorted((a, b) => a.freeBytes - b.freeBytes);
    if (least === undefined) return;
    this.#freeBytes = least.freeBytes;
    const isLow = this.#freeBytes < minFreeBytes;
    if (isLow && !this.#isLow) log.error({ ...least, minFreeBytes }, "the disk is nearly full: writes are refused");
    if (!isLow && this.#isLow) log.info({ ...least }, "the disk has space again: writes are served");
    this.#isLow = isLow;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
  }
}

interface Disk {
  readonly folder: DiskFolder;
  readonly path: string;
}

/** One folder per disk. A folder that does not exist holds nothing: the blobs are elsewhere. */
async function findDisks(folders: DiskSpaceOptions["folders"]): Promise<Disk[]> {
  const disks = new Map<number, Disk>();
  for (const [folder, path] of Object.entries(folders) as [DiskFolder, string][]) {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (found !== undefined && !disks.has(found.dev)) disks.set(found.dev, { folder, path });
  }
  return [...disks.values()];
}
