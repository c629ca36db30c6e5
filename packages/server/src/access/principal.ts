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
  /** For a person: uid of the session that the token belongs to. The token is void once the session was ended. */
  readonly loginSession?: string | undefined;
  /** For a person who signed in: how. Undefined in tokens of workloads and in those that the operator makes. */
  readonly auth?: AuthContext | undefined;
  /** Set in a token for registry traffic: the only access that it gives there. Other tokens give all rights of their identity. */
  readonly registryAccess?: readonly RegistryAccess[];
}

/** Enough for most pulls; clients ask for the next token by themselves. */
const ANONYMOUS_TOKEN_SECONDS = 300;

/** Uid of the anonymous principal: no identity has it, and bindings of it have no effect. Its rights are those of public content. */
export const ANONYMOUS_UID = "0".repeat(40);

/** A caller without credentials. @param audience the only audience of tokens that are made for it */
export function anonymousPrincipal(issuer: string, audience: string, now: Date): Principal {
  const seconds = Math.floor(now.getTime() / 1000);
  return {
    uid: ANONYMOUS_UID,
    actor: {},
    issuer,
    audience: [audience],
    issuedAt: seconds,
    expiry: seconds + ANONYMOUS_TOKEN_SECONDS,
    email: undefined,
    emailVerified: false,
    upstream: {},
    scopes: undefined,
    capabilities: undefined,
  };
}

export function isAnonymous({ uid }: Pick<Principal, "uid">): boolean {
  return uid === ANONYMOUS_UID;
}

/** The acting identity of an event, with the upstream claims that the event's organization may see. */
export interface Actor {
  readonly subject: string;
  /** The address of the request, for its audit entry. */
  readonly remoteAddress?: string | undefined;
  /** @param groupUid the group of the event; empty for none */
  claimsAt(groupUid: string): Readonly<Record<string, string>>;
}

/** Method and details of a person's sign-in, for the policies of organizations. */
export interface AuthContext {
  /** Methods of authentication as in the `amr` claim (RFC 8176), such as `pwd`, `otp`, `hwk` and `mfa`. */
  readonly methods: readonly string[];
  /** Whether the account is one of this server, and not of an identity provider. */
  readonly isLocal: boolean;
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
