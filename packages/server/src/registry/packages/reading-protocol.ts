/** What a reading thread and the server say to each other. The thread asks one thing at a time; blobs and the database are the server's. */
import type { FoundPackage } from "./found-package.ts";

/** Bytes that are to be read. */
export interface BlobDescriptor {
  readonly digest: string;
  readonly size: number;
  /** Whether it need not be in the registry. */
  readonly isForeign: boolean;
}

export type Job =
  | { readonly kind: "image"; readonly layers: readonly BlobDescriptor[]; readonly tempFolder: string }
  | { readonly kind: "sbom"; readonly documents: readonly BlobDescriptor[]; readonly subject: string | undefined };

export interface ReadResult {
  /** `ID VERSION_ID`, or the empty string. */
  readonly distribution: string;
  /** Whether every layer, database and document could be read, if not every entry. */
  readonly isWhole: boolean;
  /** What could not be read, for people. */
  readonly problems: readonly string[];
}

export type Question =
  | { readonly kind: "open"; readonly blob: BlobDescriptor }
  /** Of the blob that was opened last. */
  | { readonly kind: "next" }
  | { readonly kind: "found"; readonly packages: readonly FoundPackage[] };

/** `missing` to "open"; the next bytes, or undefined at the end, to "next". */
export type Answer = Uint8Array | "missing" | undefined;
