/** The stored identity provider as sign-in needs it. Read only: changes belong to its service. */
import {
  type IdentityProvider,
  type IdentityProvider_OIDC_CorrelationRule,
  IdentityProviderSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { isUid, rootOf } from "../../lib/uid.ts";
import type { Secrets } from "../secrets/secrets.ts";

export interface IdentityProviderRecord {
  readonly uid: string;
  readonly organizationUid: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Sealed: `openClientSecret` opens it. The empty string where there is none. */
  readonly clientSecret: string;
  readonly pkce: boolean;
  readonly additionalScopes: readonly string[];
  /** Claim with the groups of a user; the empty string where groups count for nothing. */
  readonly groupsClaim: string;
  readonly correlationRule: IdentityProvider_OIDC_CorrelationRule;
  /** Uid of a role, which may be gone. */
  readonly defaultRole: string;
  /** Another one after a change of issuer, client id or groups claim: what was signed in before it has nothing of the mappings any more. */
  readonly version: number;
}

const COLUMNS = ["uid", "issuer", "client_id", "client_secret", "default_role", "version", "body"] as const;
interface Row {
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
  return row === undefined ? undefined : recordOf(row);
}

/** All of an issuer, of whichever organizations, in the order of their uids. @param clientIds only those with one of these, such as the audiences of a token */
export async function findIdentityProvidersOf(
  db: ReadDb,
  issuer: string,
  clientIds?: readonly string[],
): Promise<IdentityProviderRecord[]> {
  if (issuer.includes("\0")) return [];
  const rows = await db.selectFrom("identity_provider").select(COLUMNS).where("issuer", "=", issuer).orderBy("uid").execute();
  return rows.filter((row) => clientIds === undefined || clientIds.includes(row.client_id)).map(recordOf);
}

/** The oldest identity provider of the verified organization of that name. */
export async function findIdentityProviderOfOrganization(db: ReadDb, name: string): Promise<IdentityProviderRecord | undefined> {
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
  return row === undefined ? undefined : recordOf(row);
}

/** What Holt signs in with at the provider; undefined where it has no secret. To be used and forgotten. */
export function openClientSecret({ uid, clientSecret }: IdentityProviderRecord, secrets: Secrets): string | undefined {
  return clientSecret === "" ? undefined : secrets.open(clientSecret, clientSecretContext(uid));
}

/** What the secret is sealed for: one that was copied to another provider's row does not open. */
export function clientSecretContext(uid: string): string {
  return `identity_provider/${uid}/client_secret`;
}

function recordOf(row: Row): IdentityProviderRecord {
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
