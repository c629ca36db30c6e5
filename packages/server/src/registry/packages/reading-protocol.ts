/** The messages between a reading thread and the server. The thread asks one question at a time; only the server reads blobs and the database. */
import type { FoundPackage } from "./found-package.ts";

/** A blob that is to be read. */
export interface BlobDescriptor {
  readonly digest: string;
  readonly size: number;
  /** Whether the blob may be missing in the registry. */
  readonly isForeign: boolean;
}

export type Job =
  | { readonly kind: "image"; readonly layers: readonly BlobDescriptor[]; readonly tempFolder: string }
  | { readonly kind: "sbom"; readonly documents: readonly BlobDescriptor[]; readonly subject: string | undefined };

export interface ReadResult {
  /** `ID VERSION_ID` of os-release, or the empty string. */
  readonly distribution: string;
  /** Whether every layer, database and document could be read; single entries may be missing. */
  readonly isWhole: boolean;
  /** What could not be read, in words for users. */
  readonly problems: readonly string[];
}

export type Question =
  | { readonly kind: "open"; readonly blob: BlobDescriptor }
  /** Asks for the next bytes of the blob that was opened last. */
  | { readonly kind: "next" }
  | { readonly kind: "found"; readonly packages: readonly FoundPackage[] };

/** `missing` answers "open"; the next bytes, or undefined at the end, answer "next". */
export type Answer = Uint8Array | "missing" | undefined;
