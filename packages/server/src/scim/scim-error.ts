/** The errors that SCIM clients know, by the keywords of RFC 7644 §3.12. What their envelope looks like is the transport's. */

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
  /** Of HTTP, which SCIM has its meanings from. */
  readonly status: number;
  readonly scimType: ScimType | undefined;
  constructor(status: number, scimType: ScimType | undefined, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.status = status;
    this.scimType = scimType;
  }
}

/** RFC 7644 §3.12 has these of status 400. */
export function badRequest(scimType: Exclude<ScimType, "uniqueness">, detail: string): ScimError {
  return new ScimError(400, scimType, detail);
}

export function noSuch(what: string, id: string): ScimError {
  return new ScimError(404, undefined, `there is no ${what} with the id ${JSON.stringify(id.slice(0, 100))}`);
}
