/** Reads stored identity providers for sign-in. Changes are made by the service in api/. */
import {
  type IdentityProvider,
  type IdentityProvider_OIDC_CorrelationRule,
  IdentityProviderSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { isStorableText } from "../../lib/clean-text.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { isUid, rangeBelow, rootOf } from "../../lib/uid.ts";
import { clientSecretContext } from "../secrets/contexts.ts";
import type { Secrets } from "../secrets/secrets.ts";

export interface IdentityProviderRecord {
  readonly uid: string;
  readonly organizationUid: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Sealed, see `openClientSecret`. Empty if there is no secret. */
  readonly clientSecret: string;
  readonly pkce: boolean;
  readonly additionalScopes: readonly string[];
  /** Name of the claim with the user's groups; empty if groups are not used. */
  readonly groupsClaim: string;
  readonly correlationRule: IdentityProvider_OIDC_CorrelationRule;
  /** Uid of a role, which may have been deleted. */
  readonly defaultRole: string;
  /**
   * Changes with issuer, client id and groups claim. Mappings no longer apply to sessions that began with another
   * version.
   */
  readonly version: number;
}

const COLUMNS = ["uid", "issuer", "client_id", "client_secret", "default_role", "version", "body"] as const;
interface ProviderRow {
  readonly uid: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly default_role: string;
  readonly version: number;
  readonly body: string;
}

export async function findIdentityProvider(db: ReadDb, uid: string): Promise<IdentityProviderRecord | undefined> {
  if (!isUid(uid)) return undefined;
  const row = await db.selectFrom("identity_provider").select(COLUMNS).where("uid", "=", uid).executeTakeFirst();
  return row === undefined ? undefined : recordFromRow(row);
}

/** The claims of a token that select its identity provider, and the choice of the caller. */
export interface ProviderQuery {
  readonly issuer: string;
  readonly clientId: string;
  /** Uid of the identity provider; undefined if the caller names none. */
  readonly uid: string | undefined;
}

/**
 * Identity providers of all organizations that match, sorted by uid: two at most. Any organization may have thousands
 * with one issuer, and callers of whom nothing is known yet ask for them.
 */
export async function findMatchingProviders(db: ReadDb, { issuer, clientId, uid }: ProviderQuery): Promise<IdentityProviderRecord[]> {
  if (!isStorableText(issuer) || !isStorableText(clientId) || (uid !== undefined && !isUid(uid))) return [];
  const rows = await db
    .selectFrom("identity_provider")
    .select(COLUMNS)
    .where("issuer", "=", issuer)
    .where("client_id", "=", clientId)
    .$if(uid !== undefined, (query) => query.where("uid", "=", uid as string))
    .orderBy("uid")
    .limit(2)
    .execute();
  return rows.map(recordFromRow);
}

/** Whether an identity provider of another organization has the same issuer. */
export async function isIssuerOfOthers(
  db: ReadDb,
  { issuer, organizationUid }: Pick<IdentityProviderRecord, "issuer" | "organizationUid">,
): Promise<boolean> {
  const { lower, upper } = rangeBelow(organizationUid);
  const other = await db
    .selectFrom("identity_provider")
    .select("uid")
    .where("issuer", "=", issuer)
    .where((eb) => eb.or([eb("uid", "<", lower), eb("uid", ">=", upper)]))
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** The oldest identity provider of the verified organization with this name. */
export async function findOrganizationProvider(db: ReadDb, name: string): Promise<IdentityProviderRecord | undefined> {
  if (name.includes("\0")) return undefined;
  const row = await db
    .selectFrom("identity_provider")
    .innerJoin("group", "group.uid", "identity_provider.parent")
    .select(COLUMNS.map((column) => `identity_provider.${column}` as const))
    .where("group.name", "=", name)
    .where("group.verified", "=", 1)
    .orderBy("identity_provider.create_time")
    .orderBy("identity_provider.uid")
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : recordFromRow(row);
}

/** The client secret in plain text; undefined if there is none. Do not store it. */
export function openClientSecret({ uid, clientSecret }: IdentityProviderRecord, secrets: Secrets): string | undefined {
  return clientSecret === "" ? undefined : secrets.open(clientSecret, clientSecretContext(uid));
}

function recordFromRow(row: ProviderRow): IdentityProviderRecord {
  const { name, configuration }: IdentityProvider = messageFromJson(IdentityProviderSchema, row.body);
  if (configuration.case !== "oidc") throw new Error(`identity provider ${row.uid} has no OIDC configuration`);
  const { pkceEnabled, additionalScopes, groupsClaim, correlationRule } = configuration.value;
  return {
    uid: row.uid,
    organizationUid: rootOf(row.uid),
    name,
    issuer: row.issuer,
    clientId: row.client_id,
    clientSecret: row.client_secret,
    pkce: pkceEnabled,
    additionalScopes,
    groupsClaim,
    correlationRule,
    defaultRole: row.default_role,
    version: row.version,
  };
}
