/** Declares the table of blobs. Columns have the names of the proto fields. */

declare module "../db/schema.ts" {
  interface Schema {
    blob: BlobTable;
  }
}

/** Content in the blob store. */
export interface BlobTable {
  digest: string;
  size: number;
  create_time: string;
  /**
   * Set while garbage collection removes the content, which no repo may link then. After this time the removal has
   * expired.
   */
  removal_time: string | null;
}
