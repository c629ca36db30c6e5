/** Errors of SCIM, with the keywords of RFC 7644 §3.12. `http/error.ts` writes their envelope. */

export type ScimType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue";

export class ScimError extends Error {
  override readonly name = "ScimError";
  /** The HTTP status, which gives the error its meaning in SCIM. */
  readonly status: number;
  readonly scimType: ScimType | undefined;
  constructor(status: number, scimType: ScimType | undefined, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.status = status;
    this.scimType = scimType;
  }
}

/** The keywords that RFC 7644 §3.12 gives status 400. */
export function badRequest(scimType: Exclude<ScimType, "uniqueness">, detail: string): ScimError {
  return new ScimError(400, scimType, detail);
}

export function notFound(type: string, id: string): ScimError {
  return new ScimError(404, undefined, `no ${type} has the id ${JSON.stringify(id.slice(0, 100))}`);
}
