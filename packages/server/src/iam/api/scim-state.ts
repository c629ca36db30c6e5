/** Derives the shown state of SCIM credentials from their rows and the time. */
import { create as createMessage } from "@bufbuild/protobuf";
import {
  IdentityProvider_SCIM_CredentialState as CredentialState,
  type IdentityProvider_SCIM,
  IdentityProvider_SCIMSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import type { ScimTokenTable } from "../tables.ts";

/** The URL at which a directory provisions for the identity provider. @param baseUrl of this server */
export function scimEndpoint(baseUrl: string, idpUid: string): string {
  return `${baseUrl}/scim/v2/${idpUid}`;
}

/** The full state, which Get shows. @param row undefined if there never was a token */
export function scimState(row: ScimTokenTable | undefined, endpointUrl: string, now: Date): IdentityProvider_SCIM {
  const state = scimSummary(row, endpointUrl);
  state.credentialState = credentialStateOf(row, now);
  if (row === undefined || row.token_hash === null) return state;
  if (row.expire_time !== null) state.tokenExpireTime = timestampOf(row.expire_time);
  if (row.previous_expire_time !== null) state.previousTokenExpireTime = timestampOf(row.previous_expire_time);
  return state;
}

/** The state without tokens, which lists show. */
export function scimSummary(row: ScimTokenTable | undefined, endpointUrl: string): IdentityProvider_SCIM {
  return createMessage(IdentityProvider_SCIMSchema, { enabled: row?.enabled === 1, endpointUrl, etag: row?.etag ?? "" });
}

export function isLive({ token_hash, expire_time }: ScimTokenTable, now: Date): boolean {
  return token_hash !== null && (expire_time === null || expire_time > now.toISOString());
}

function credentialStateOf(row: ScimTokenTable | undefined, now: Date): CredentialState {
  if (row === undefined) return CredentialState.NOT_ISSUED;
  if (row.token_hash === null) return CredentialState.REVOKED;
  if (!isLive(row, now)) return CredentialState.EXPIRED;
  const isRotating = row.previous_expire_time !== null && row.previous_expire_time > now.toISOString();
  return isRotating ? CredentialState.ROTATING : CredentialState.LIVE;
}

export function timestampOf(time: string) {
  return timestampFromDate(new Date(time));
}

export async function findScimToken(db: ReadDb, idpUid: string): Promise<ScimTokenTable | undefined> {
  return db.selectFrom("scim_token").selectAll().where("idp_uid", "=", idpUid).executeTakeFirst();
}

export async function findScimTokens(db: ReadDb, idpUids: readonly string[]): Promise<Map<string, ScimTokenTable>> {
  const rows = await db
    .selectFrom("scim_token")
    .selectAll()
    .where(sql<boolean>`idp_uid in (select wanted.value from ${db.dialect.valuesOf(idpUids)} as wanted)`)
    .execute();
  return new Map(rows.map((row) => [row.idp_uid, row]));
}
