/** Chooses the provider of a sign-in: the operator's or an organization's. */

import type { ReadDb } from "../db/store.ts";
import {
  findIdentityProvider,
  findOrganizationProvider,
  type IdentityProviderRecord,
  openClientSecret,
} from "../iam/identities/identity-provider-record.ts";
import type { OrganizationPage } from "../iam/policy/organization-page.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { isUid } from "../lib/uid.ts";
import type { RequestedProvider } from "./request.ts";
import type { Upstream } from "./upstream-configuration.ts";

/** The operator's provider, for people who use no organization's provider. */
export interface OperatorProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** Empty for a client without a secret. */
  readonly clientSecret: string;
}

/** The provider to sign in with. `record` is undefined for the operator's provider. */
export interface ChosenProvider {
  readonly upstream: Upstream;
  readonly record: IdentityProviderRecord | undefined;
}

/** The providers that a page can offer. */
export interface ProviderChoice {
  /** Host of the operator's provider; undefined if there is none. */
  readonly operatorHost: string | undefined;
  readonly hasOrganizations: boolean;
  /** The organization that the person signs in for, if it is known. */
  readonly organization: OrganizationPage | undefined;
  /** Whether people may use an account of this server. */
  readonly allowsLocalAccounts: boolean;
}

export interface Providers {
  /**
   * @returns undefined if the requested provider does not exist, or if none is requested and there is not exactly one
   */
  choose(db: ReadDb, way: RequestedProvider): Promise<ChosenProvider | undefined>;
  /**
   * Finds the provider that a running sign-in began with.
   * @param uid empty for the operator's provider
   * @returns undefined if the provider no longer exists
   */
  find(db: ReadDb, uid: string): Promise<ChosenProvider | undefined>;
  /** @param organization that the person signs in for; its policy limits the offer */
  offer(db: ReadDb, organization?: OrganizationPage): Promise<ProviderChoice>;
}

export function createProviders(operator: OperatorProvider | undefined, secrets: Secrets): Providers {
  function chooseOperator(hints: RequestedProvider["hints"] = {}): ChosenProvider | undefined {
    if (operator === undefined) return undefined;
    const { issuer, clientId, clientSecret } = operator;
    const upstream = {
      issuer,
      clientId,
      clientSecret: clientSecret === "" ? undefined : clientSecret,
      scopes: ["email", "profile"],
      groupsClaim: "",
      hints,
    };
    return { upstream, record: undefined };
  }

  function chooseOrganization(record: IdentityProviderRecord | undefined): ChosenProvider | undefined {
    if (record === undefined) return undefined;
    const { issuer, clientId, additionalScopes, groupsClaim } = record;
    const clientSecret = openClientSecret(record, secrets);
    return { upstream: { issuer, clientId, clientSecret, scopes: additionalScopes, groupsClaim, hints: {} }, record };
  }

  async function offer(db: ReadDb, organization?: OrganizationPage): Promise<ProviderChoice> {
    const { requiresOwnProvider = false, forbidsLocalAccounts = false } = organization?.policy ?? {};
    if (requiresOwnProvider) return { operatorHost: undefined, hasOrganizations: false, organization, allowsLocalAccounts: false };
    const any = await db.selectFrom("identity_provider").select("uid").limit(1).executeTakeFirst();
    const operatorHost = operator && new URL(operator.issuer).host;
    return { operatorHost, hasOrganizations: any !== undefined, organization, allowsLocalAccounts: !forbidsLocalAccounts };
  }

  return {
    offer,
    async choose(db, { provider, wantsOperator: wantsOperators, hints }) {
      if (provider !== "") return chooseOrganization(await findNamed(db, provider));
      if (wantsOperators) return chooseOperator(hints);
      return (await offer(db)).hasOrganizations ? undefined : chooseOperator(hints);
    },
    async find(db, uid) {
      return uid === "" ? chooseOperator() : chooseOrganization(await findIdentityProvider(db, uid));
    },
  };
}

/** Names of organizations are lower case; people may type them in any case. */
function findNamed(db: ReadDb, name: string): Promise<IdentityProviderRecord | undefined> {
  return isUid(name) ? findIdentityProvider(db, name) : findOrganizationProvider(db, name.toLowerCase());
}
