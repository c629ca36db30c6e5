/** With whom one can sign in here, and which of them is meant. */

import type { ReadDb } from "../db/store.ts";
import {
  findIdentityProvider,
  findOrganizationProvider,
  type IdentityProviderRecord,
  openClientSecret,
} from "../iam/identities/identity-provider-record.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { isUid } from "../lib/uid.ts";
import type { Way } from "./request.ts";
import type { Upstream } from "./upstream.ts";

/** The operator's own provider, for everybody who belongs to none of an organization's. */
export interface OperatorProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** Empty for a client without one. */
  readonly clientSecret: string;
}

/** With whom the person signs in: an organization's provider, or undefined for the operator's. */
export interface Chosen {
  readonly upstream: Upstream;
  readonly record: IdentityProviderRecord | undefined;
}

/** What the page can offer. */
export interface Offer {
  /** Host of the operator's provider; undefined where there is none. */
  readonly operatorHost: string | undefined;
  readonly hasOrganizations: boolean;
}

export interface Providers {
  /** Undefined where the way leads nowhere, or no way is said and there are several or none. */
  choose(db: ReadDb, way: Way): Promise<Chosen | undefined>;
  /** The one that a sign-in under way began with; undefined where it is gone. @param uid empty for the operator's */
  again(db: ReadDb, uid: string): Promise<Chosen | undefined>;
  offer(db: ReadDb): Promise<Offer>;
}

export function createProviders(operator: OperatorProvider | undefined, secrets: Secrets): Providers {
  function operators(hints: Way["hints"] = {}): Chosen | undefined {
    if (operator === undefined) return undefined;
    const { issuer, clientId, clientSecret } = operator;
    const upstream = {
      issuer,
      clientId,
      clientSecret: clientSecret === "" ? undefined : clientSecret,
      scopes: ["email", "profile"],
      hints,
    };
    return { upstream, record: undefined };
  }

  function organizations(record: IdentityProviderRecord | undefined): Chosen | undefined {
    if (record === undefined) return undefined;
    const { issuer, clientId, additionalScopes } = record;
    const clientSecret = openClientSecret(record, secrets);
    return { upstream: { issuer, clientId, clientSecret, scopes: additionalScopes, hints: {} }, record };
  }

  async function offer(db: ReadDb): Promise<Offer> {
    const any = await db.selectFrom("identity_provider").select("uid").limit(1).executeTakeFirst();
    return { operatorHost: operator && new URL(operator.issuer).host, hasOrganizations: any !== undefined };
  }

  return {
    offer,
    async choose(db, { provider, operators: wantsOperators, hints }) {
      if (provider !== "") return organizations(await findNamed(db, provider));
      if (wantsOperators) return operators(hints);
      return (await offer(db)).hasOrganizations ? undefined : operators(hints);
    },
    async again(db, uid) {
      return uid === "" ? operators() : organizations(await findIdentityProvider(db, uid));
    },
  };
}

/** Names of organizations have small letters only, and people type as they like. */
function findNamed(db: ReadDb, name: string): Promise<IdentityProviderRecord | undefined> {
  return isUid(name) ? findIdentityProvider(db, name) : findOrganizationProvider(db, name.toLowerCase());
}
