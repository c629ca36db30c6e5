/** The request for a copy of an image, and its result. */
import type { Repository } from "./repository.ts";

export interface CopyRequest {
  readonly source: Repository;
  readonly target: Repository;
  /** Tag or digest in the source. */
  readonly reference: string;
  /** Undefined to keep the digest alone. */
  readonly tag: string | undefined;
  readonly withReferrers: boolean;
  /** Called with the bytes of each chunk that is copied. */
  readonly onBytes: (count: number) => void;
}

export interface Copied {
  readonly digest: string;
  manifests: number;
  /** Blobs that were sent, that the registry took from the source repository, and that were there already. */
  uploaded: number;
  mounted: number;
  present: number;
  bytes: number;
  referrers: number;
}
