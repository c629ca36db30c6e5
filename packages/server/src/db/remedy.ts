/** Says what an operator can do about errors of a database whose own messages do not tell. */

const AUTHORITY = "name the authority of the database's certificate in HOLT_DATABASE_URL: ?sslmode=verify-full&sslrootcert=/path/ca.pem";
export const OWNERSHIP = "make the role of HOLT_DATABASE_URL the owner of the database and its tables";

/** By the SQLSTATE of PostgreSQL or the code of Node. */
const REMEDIES: ReadonlyMap<unknown, string> = new Map([
  ["42501", OWNERSHIP],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", AUTHORITY],
  ["SELF_SIGNED_CERT_IN_CHAIN", AUTHORITY],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", AUTHORITY],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", AUTHORITY],
]);

export function remedyOf(error: unknown): string | undefined {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return REMEDIES.get(code) ?? REMEDIES.get((cause as { code?: unknown } | undefined)?.code);
}
