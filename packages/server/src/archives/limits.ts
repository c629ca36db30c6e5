/** The one policy of limits for archives from untrusted sources. Each reader states its own numbers. Pure. */
import type { PathRules } from "./entry-path.ts";

export interface ArchiveLimits {
  /** Entries per archive: files, folders and links. */
  readonly maxEntries: number;
  /** Every archive may expand to this many bytes, however small it is. */
  readonly freeBytes: number;
  /** Above `freeBytes`, the expanded size divided by the archive's own size. */
  readonly maxRatio: number;
  readonly paths: PathRules;
}

/** The archive itself is at fault: it is malformed, damaged or over a limit. The message says how. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

/** Bytes whose source can fail. The failure is kept, because parsers report it as if the archive were malformed. */
export interface FallibleBytes {
  readonly failure: unknown;
}

/** Returns the failure of the source if there is one, else an ArchiveError. `message` introduces the errors of libraries. */
export function archiveErrorFrom(error: unknown, source: FallibleBytes, message: string): unknown {
  if (source.failure !== undefined) return source.failure;
  if (error instanceof ArchiveError) return error;
  return new ArchiveError(`${message} (${(error as Error).message.slice(0, 200)})`, { cause: error });
}

/** Counts the entries and the expanded bytes of one archive against its limits. */
export class ArchiveMeter {
  readonly #limits: ArchiveLimits;
  readonly #maxBytes: number;
  #entries = 0;
  #expandedBytes = 0;

  /** @param archiveBytes the size of the archive itself, compressed */
  constructor(limits: ArchiveLimits, archiveBytes: number) {
    this.#limits = limits;
    this.#maxBytes = Math.max(limits.freeBytes, archiveBytes * limits.maxRatio);
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** Includes the bytes that exceeded the limit. */
  get expandedBytes(): number {
    return this.#expandedBytes;
  }

  /** @throws ArchiveError above `maxEntries` */
  addEntry(): void {
    this.#entries++;
    this.assertEntryCount(this.#entries);
  }

  /** @throws ArchiveError above `maxEntries` */
  assertEntryCount(entries: number): void {
    const { maxEntries } = this.#limits;
    if (entries > maxEntries) throw new ArchiveError(`the archive has more than ${maxEntries} entries`);
  }

  /** @throws ArchiveError if the archive expands to too many bytes */
  addExpanded(bytes: number): void {
    this.#expandedBytes += bytes;
    if (this.#expandedBytes > this.#maxBytes)
      throw new ArchiveError(`the archive expands to more than ${this.#limits.maxRatio} times its size`);
  }
}
