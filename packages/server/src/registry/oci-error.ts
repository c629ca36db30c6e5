/** Errors of the registry, with the codes of the OCI distribution specification. `oci/error.ts` has their HTTP status and body. */

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
  /** JSON for programs. */
  readonly detail: unknown;
  constructor(code: OciCode, message: string, detail?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.detail = detail;
  }
}
