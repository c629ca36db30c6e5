/** The errors of the registry, by the codes of the OCI distribution specification. `oci/error.ts` maps them to HTTP. */

/** OCI distribution specification 1.1, "Error Codes". */
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
  /** Machine-readable details as JSON, as the specification allows. */
  readonly detail: unknown;
  constructor(code: OciCode, message: string, detail?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.detail = detail;
  }
}
