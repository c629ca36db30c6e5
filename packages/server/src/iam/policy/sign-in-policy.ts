/** Decides whether a person's sign-in satisfies what an organization requires of its people. */
import type { Principal } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { type HoltError, permissionDenied } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";

export interface SignInPolicy {
  readonly forbidsLocalAccounts: boolean;
  readonly requiresSecondFactor: boolean;
  readonly requiresOwnProvider: boolean;
}

export type PolicyProblem = "LOCAL_ACCOUNTS_FORBIDDEN" | "SECOND_FACTOR_REQUIRED" | "OWN_PROVIDER_REQUIRED";

/** A person's sign-in. Without `auth` it is none: the operator made the token, or work runs later on behalf of a person. */
export type SignedIn = Pick<Principal, "auth" | "session">;

/** Factors that a person knows, and factors that a person has or is (RFC 8176). */
const KNOWN: ReadonlySet<string> = new Set(["pwd", "pin", "kba"]);
const OWNED: ReadonlySet<string> = new Set(["otp", "sms", "tel", "hwk", "swk", "sc", "pop", "fpt", "face", "iris", "retina", "vbm"]);

export function hasSecondFactor(methods: readonly string[]): boolean {
  return methods.includes("mfa") || (methods.some((method) => KNOWN.has(method)) && methods.some((method) => OWNED.has(method)));
}

/** The first requirement that the sign-in does not satisfy. */
export function problemOf(policy: SignInPolicy, organization: string, { auth, session }: SignedIn): PolicyProblem | undefined {
  if (auth === undefined) return undefined;
  const provider = session === undefined ? undefined : rootOf(session.provider);
  if (policy.requiresOwnProvider && provider !== organization) return "OWN_PROVIDER_REQUIRED";
  if (policy.forbidsLocalAccounts && auth.isLocal) return "LOCAL_ACCOUNTS_FORBIDDEN";
  // Another organization may run its provider itself, and let it claim anything.
  const isBelieved = provider === undefined || provider === organization;
  if (policy.requiresSecondFactor && !(isBelieved && hasSecondFactor(auth.methods))) return "SECOND_FACTOR_REQUIRED";
  return undefined;
}

/** Only organizations that have settings. */
export async function readPolicies(db: ReadDb, organizations: readonly string[]): Promise<ReadonlyMap<string, SignInPolicy>> {
  if (organizations.length === 0) return new Map();
  const rows = await db
    .selectFrom("sign_in_settings")
    .select(["org_uid", "forbids_local_accounts", "requires_second_factor", "requires_own_provider"])
    .where("org_uid", "in", db.selectFrom(db.dialect.valuesOf(organizations).as("v")).select("v.value"))
    .execute();
  return new Map(rows.map((row) => [row.org_uid, policyFromRow(row)]));
}

interface PolicyRow {
  readonly forbids_local_accounts: number;
  readonly requires_second_factor: number;
  readonly requires_own_provider: number;
}

function policyFromRow(row: PolicyRow): SignInPolicy {
  return {
    forbidsLocalAccounts: row.forbids_local_accounts === 1,
    requiresSecondFactor: row.requires_second_factor === 1,
    requiresOwnProvider: row.requires_own_provider === 1,
  };
}

const REASONS: Readonly<Record<PolicyProblem, string>> = {
  LOCAL_ACCOUNTS_FORBIDDEN: "the organization does not accept accounts of this server; sign in through an identity provider",
  SECOND_FACTOR_REQUIRED: "the organization requires a second factor; sign in again with one",
  OWN_PROVIDER_REQUIRED: "the organization requires its own identity provider; sign in again through it",
};

/** The details name the reason, for programs that sign the person in again. */
function policyRefusal(problem: string, organization: string): HoltError {
  const text = REASONS[problem as PolicyProblem] ?? "the organization requires another sign-in";
  return permissionDenied(text, { policy: problem, organization });
}

/** @throws PERMISSION_DENIED unless the sign-in satisfies the organization of the group */
export async function assertSatisfiesPolicy(db: ReadDb, groupUid: string, signedIn: SignedIn): Promise<void> {
  const organization = rootOf(groupUid);
  const policy = (await readPolicies(db, [organization])).get(organization);
  const problem = policy && problemOf(policy, organization, signedIn);
  if (problem !== undefined) throw policyRefusal(problem, organization);
}
