/** The errors that registry clients know, by the codes of the OCI distribution specification. Which HTTP status and body each has is the transport's. */

/** Distribution specification 1.1, "Error codes". */
export type OciCode =
  | "BLOB_UNKNOWN"
  | "BLOB_UPLOAD_INVALID"
  | "BLOB_UPLOAD_UNKNOWN"
  | "DIGEST_INVALID"
  | "MANIFEST_BLOB_UNKNOWN"
  | "MANIFEST_INVALID"
  | "MANIFEST_UNKNOWN"
  | "NAME_INVALID"
  | "NAME_UNKNOWN"
  | "SIZE_INVALID"
  | "UNAUTHORIZED"
  | "DENIED"
  | "UNSUPPORTED"
  | "TOOMANYREQUESTS";

export class OciError extends Error {
  override readonly name = "OciError";
  readonly code: OciCode;
  /** What a machine may read of it: JSON. */
  readonly detail: unknown;
  constructor(code: OciCode, message: string, detail?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.detail = detail;
  }
}
