/** Declares the table of blobs. Columns have the names of the proto fields. */

declare module "../db/schema.ts" {
  interface Schema {
    blob: BlobTable;
    blob_upload: BlobUploadTable;
    blob_upload_part: BlobUploadPartTable;
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

/** A pending upload to a bucket. The folder of blobs needs no such rows. */
export interface BlobUploadTable {
  upload: string;
  /** Bytes that are stored: of all parts, and of the tail. */
  size: number;
  /** Id of the multipart upload; null while there are few bytes. */
  multipart: string | null;
  /** Key of the object with the bytes after the last part; null if there are none. */
  tail: string | null;
  /** 0 once the tail is the last part. */
  tail_size: number;
  /** Hexadecimal digest of all stored bytes; null if it is not known. */
  sha256: string | null;
  /** Set when the multipart upload has become one object. */
  object_etag: string | null;
  /** 1 once the upload accepts no more bytes: a commit has begun to make one object of its parts, or has ended. */
  is_committed: number;
  /** The append or commit that uses the upload, and until when it may. */
  holder: string | null;
  holder_until: string | null;
  update_time: string;
}

export interface BlobUploadPartTable {
  upload: string;
  /** From 1 upwards, without gaps. */
  part: number;
  etag: string;
  checksum: string;
}
