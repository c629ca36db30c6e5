/** Defines the context of a request to one identity provider's directory, with helpers for etags, times and errors. */
import { randomUUID } from "node:crypto";
import type { Store } from "../db/store.ts";
import { ConstraintError } from "../db/transaction.ts";
import type { Grants } from "../iam/grants/grants.ts";
import type { IdentityProviderRecord } from "../iam/identities/identity-provider-record.ts";
import type { Clock } from "../lib/clock.ts";
import { etagOf, type ScimRow } from "./resource.ts";
import { ScimError } from "./scim-error.ts";

export interface Directory {
  readonly provider: IdentityProviderRecord;
  readonly store: Store;
  readonly grants: Grants;
  readonly clock: Clock;
}

export function newId(): string {
  return randomUUID();
}

/**
 * @param ifMatch the header: the row must have one of these etags; undefined for no condition
 * @throws ScimError 412
 */
export function assertEtagMatches(row: Pick<ScimRow, "version">, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  // Weak and strong etags of the same version are equal: no etag here depends on bytes (RFC 7644 §3.14).
  const known = etagOf(row).slice(2);
  const isSame = ifMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === known);
  if (!isSame) throw new ScimError(412, undefined, "the resource has changed: read it again");
}

/** Turns a violated database constraint into a ScimError; rethrows everything else. */
export function rethrowConstraint(thrown: unknown): never {
  if (!(thrown instanceof ConstraintError)) throw thrown;
  if (thrown.kind === "unique") {
    const attribute = thrown.columns.includes("user_name") ? "userName" : "externalId";
    throw new ScimError(409, "uniqueness", `another user has this ${attribute}`, { cause: thrown });
  }
  // The provider or a member was deleted in the meantime.
  throw new ScimError(404, undefined, "the identity provider or a member no longer exists", { cause: thrown });
}

/** Never earlier than `before`, even if the clock goes back: `meta.lastModified` must not decrease. */
export function laterTime(before: string, now: Date): string {
  const time = now.toISOString();
  return time > before ? time : before;
}
