/** The caller, as read from a verified access token. capabilities.ts derives the rights. */
export interface Principal {
  /** Uid of the identity: the token's `sub`. */
  readonly uid: string;
  /** The upstream actor (`act` of the token): iss, sub, aud and further claims of the upstream; all strings. */
  readonly actor: Readonly<Record<string, string>>;
  readonly issuer: string;
  readonly audience: readonly string[];
  /** Unix seconds. */
  readonly issuedAt: number;
  readonly expiry: number;
  /**
   * For a person: when the account was registered. After it was deleted and registered again, the token is void.
   * Undefined in other tokens.
   */
  readonly registered?: string | undefined;
  /**
   * For a pull token: id of the password that was used. The token is void once that password is revoked or has expired.
   * Undefined in tokens of identities.
   */
  readonly pullTokenSecret?: string | undefined;
  /** Address of a person, from an issuer that the operator trusts; undefined in all other tokens. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  /** Profile claims of the same issuer: name, picture, given_name, family_name … */
  readonly upstream: Readonly<Record<string, string>>;
  /** Set in a narrowed token: it is valid only for these groups, and for no capability outside of this bit set. */
  readonly scopes: readonly string[] | undefined;
  readonly capabilities: bigint | undefined;
  /** Uid of the only organization where the token is valid; undefined if it is valid everywhere. */
  readonly within?: string | undefined;
  /** Set for a person who signed in with an organization's identity provider. */
  readonly session?: ProviderSession | undefined;
  /** Set in a token for registry traffic: the only access that it gives there. Other tokens give all rights of their identity. */
  readonly registryAccess?: readonly RegistryAccess[];
}

/** The acting identity of an event, with the upstream claims that the event's organization may see. */
export interface Actor {
  readonly subject: string;
  /** @param groupUid the group of the event; empty for none */
  claimsAt(groupUid: string): Readonly<Record<string, string>>;
}

/** Rights from a sign-in with an organization's identity provider, in addition to the bindings of the identity. They end with the token. */
export interface ProviderSession {
  /** Uid of the identity provider. */
  readonly provider: string;
  /**
   * Version of the provider at the sign-in. A change of its issuer, client or groups claim starts another version and voids the mappings.
   */
  readonly version?: number | undefined;
  /** Uids of the mappings of groups that the provider named in its token. */
  readonly mappings: readonly string[];
  /** Uids of the mappings of groups that the directory lists the person in. They count only while it does. */
  readonly directoryMappings: readonly string[];
}

/** One entry of a registry token's `access` claim, in the form that registry clients know. */
export interface RegistryAccess {
  readonly type: string;
  /** In the client's spelling. */
  readonly name: string;
  readonly actions: readonly string[];
}
