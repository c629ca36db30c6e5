/**
 * The messages between a reading thread and the server. The thread sends one question at a time; only the server has
 * access to blobs and the database.
 */
import type { FoundPackage } from "./found-package.ts";

/** The blob to read. */
export interface BlobDescriptor {
  readonly digest: string;
  readonly size: number;
  /** Whether the blob may be missing from the registry. */
  readonly isForeign: boolean;
}

export type ReadingJob =
  | { readonly kind: "image"; readonly layers: readonly BlobDescriptor[]; readonly tempFolder: string }
  | { readonly kind: "sbom"; readonly documents: readonly BlobDescriptor[]; readonly subject: string | undefined };

export interface ReadResult {
  /** `ID VERSION_ID`, or the empty string if unknown. */
  readonly distribution: string;
  /** Whether every layer, database and document could be read. Single entries may have been left out. */
  readonly isWhole: boolean;
  /** What could not be read, as messages for people. */
  readonly problems: readonly string[];
}

export type ReadingQuestion =
  | { readonly kind: "open"; readonly blob: BlobDescriptor }
  /** Requests the next bytes of the blob that was opened last. */
  | { readonly kind: "next" }
  | { readonly kind: "found"; readonly packages: readonly FoundPackage[] };

/** To "open": "missing", or undefined if it is open. To "next": the next bytes, or undefined at the end. */
export type ReadingAnswer = Uint8Array | "missing" | undefined;
