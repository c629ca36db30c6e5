/** The table of blobs. The migrations make them; column names equal proto field names. */

declare module "../db/schema.ts" {
  interface Schema {
    blob: BlobTable;
  }
}

/** Content that the blob store has. */
export interface BlobTable {
  digest: string;
  size: number;
  create_time: string;
  /** Set while collection removes the content, which may be gone already: no repo may link it then. After this time whoever removes it has given up. */
  removal_time: string | null;
}
