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
  /** Of a token for registry traffic: all that it is good for there. Other tokens are good for whatever their identity may do. */
  readonly registryAccess?: readonly RegistryAccess[];
}

/** One entry of a registry token's `access` claim, in the form that registry clients know. */
export interface RegistryAccess {
  readonly type: string;
  /** As the client wrote it. */
  readonly name: string;
  readonly actions: readonly string[];
}
