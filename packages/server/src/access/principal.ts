/** Who is calling, as read from a verified access token. Says nothing of what they may do: that is capabilities.ts. */
export interface Principal {
  /** Uid of the identity: the token's `sub`. */
  readonly uid: string;
  /** The upstream actor (`act` of the token): iss, sub, aud and what else the upstream said; all strings. */
  readonly actor: Readonly<Record<string, string>>;
  readonly issuer: string;
  readonly audience: readonly string[];
  /** Unix seconds. */
  readonly issuedAt: number;
  readonly expiry: number;
  /** Of a person, by the word of an issuer that the operator trusts; nobody else's tokens have one. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  /** Copy of the profile claims of the same word: name, picture, given_name, family_name … */
  readonly upstream: Readonly<Record<string, string>>;
  /** Where the token was narrowed: exactly these groups, and no capability outside this bit set. */
  readonly scopes: readonly string[] | undefined;
  readonly capabilities: bigint | undefined;
  /** Uid of the organization in which alone the token is good; left out where it is good everywhere. */
  readonly within?: string | undefined;
  /** Of a person who signed in with an organization's identity provider. */
  readonly session?: ProviderSession | undefined;
  /** Of a token for registry traffic: all that it is good for there. Other tokens are good for whatever their identity may do. */
  readonly registryAccess?: readonly RegistryAccess[];
}

/** What a sign-in with an organization's identity provider gave beside the bindings of the identity. It ends with the token. */
export interface ProviderSession {
  /** Uid of the identity provider. */
  readonly provider: string;
  /** Of the provider at the sign-in. With another issuer, client or groups claim it is another one, and the mappings count no more. */
  readonly version?: number | undefined;
  /** Uids of its mappings of groups that the provider named in its token. */
  readonly mappings: readonly string[];
  /** Uids of its mappings of groups in which the directory has the person. They count only while it has. */
  readonly directoryMappings: readonly string[];
}

/** One entry of a registry token's `access` claim, in the form that registry clients know. */
export interface RegistryAccess {
  readonly type: string;
  /** As the client wrote it. */
  readonly name: string;
  readonly actions: readonly string[];
}
