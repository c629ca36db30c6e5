/** One identity provider's directory, as a request has it to do with. */
import { randomUUID } from "node:crypto";
import type { Store } from "../db/store.ts";
import { ConstraintError } from "../db/transaction.ts";
import type { Grants } from "../iam/grants/grants.ts";
import type { IdentityProviderRecord } from "../iam/identities/identity-provider-record.ts";
import type { Clock } from "../lib/clock.ts";
import { etagOf, type Row } from "./resource.ts";
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

/** @param ifMatch the header: entity tags of which one must be the row's; undefined for no condition. @throws ScimError 412 */
export function assertMatches(row: Pick<Row, "version">, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  // Weak and strong ones of the same version stand for the same: nothing here depends on bytes (RFC 7644 §3.14).
  const known = etagOf(row).slice(2);
  const isSame = ifMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === known);
  if (!isSame) throw new ScimError(412, undefined, "the resource was changed since: read it again");
}

/** A constraint broken by a write of the directory, as the directory is told. */
export function explainConstraint(thrown: unknown): never {
  if (!(thrown instanceof ConstraintError)) throw thrown;
  if (thrown.kind === "unique") {
    const attribute = thrown.columns.includes("user_name") ? "userName" : "externalId";
    throw new ScimError(409, "uniqueness", `another user has this ${attribute}`, { cause: thrown });
  }
  // The provider, or a member, was deleted meanwhile.
  throw new ScimError(404, undefined, "what this is about no longer exists", { cause: thrown });
}

/** Later than before, also where the clock stands still: `meta.lastModified` never goes back. */
export function timeAfter(before: string, now: Date): string {
  const time = now.toISOString();
  return time > before ? time : before;
}
