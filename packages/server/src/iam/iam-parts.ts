/** Declares the inputs of iam: settings, parts of the installation, and functions of domains that it does not know. */
import type { AuthCollaborators } from "./api/auth.ts";
import type { Grants } from "./grants/grants.ts";
import type { Secrets } from "./secrets/secrets.ts";
import type { SigningKeys } from "./tokens/signing-keys.ts";
import type { ServicePrincipals } from "./tokens/workload-login.ts";

export interface IamSettings {
  readonly registryUrl: string;
  readonly audiences: readonly string[];
  readonly userIssuers: readonly string[];
  readonly userClientIds: readonly string[];
  readonly localAccounts: boolean;
  readonly servicePrincipals: ServicePrincipals;
  readonly pinnedIssuers: ReadonlyMap<string, unknown>;
  readonly awsStsUrl: string;
  readonly outboundAllowCidrs: readonly string[];
  readonly maxConcurrentCalls: number;
  /** Whether content may be public. */
  readonly publicContent: boolean;
  /** CIDRs of reverse proxies. */
  readonly trustedProxies: readonly string[];
}

/** Parts of the installation, and functions of domains that iam does not know. */
export interface IamParts {
  readonly grants: Grants;
  readonly keys: SigningKeys;
  readonly secrets: Secrets;
  /** Removes most of what a directory has provisioned, in chunks, before its identity provider is deleted. */
  readonly emptyDirectory: (idpUid: string) => Promise<void>;
  readonly takeHeadlessSession: AuthCollaborators["takeHeadlessSession"];
}
