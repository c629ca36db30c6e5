/** The interface of iam for other domains of a running server. */
import type { Group } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { Authenticator } from "../api/call/authenticate.ts";
import type { WriteContext } from "../api/resource/write.ts";
import type { OutboundClient } from "../outbound/client.ts";
import type { LocalAccounts } from "./accounts/local-accounts.ts";
import type { RegistryAuthenticator } from "./content-login/authenticate.ts";
import type { Grants } from "./grants/grants.ts";
import type { UserLogins } from "./identities/user-login.ts";
import type { Registrations } from "./joining/register.ts";
import type { Secrets } from "./secrets/secrets.ts";
import type { AccessTokens } from "./tokens/access-token.ts";
import type { AudienceList } from "./tokens/audience.ts";
import type { TokenExchange } from "./tokens/exchange-token.ts";
import type { JwksCache } from "./tokens/jwks.ts";
import type { LoginTokens } from "./tokens/login-token.ts";
import type { SigningKeys } from "./tokens/signing-keys.ts";
import type { WaitLimit } from "./tokens/wait-limit.ts";

export interface Iam {
  /** Creates a folder with nothing but a name. It checks no rights and appends no event. @throws INVALID_ARGUMENT, NOT_FOUND */
  createFolder(parent: string, name: string, context: WriteContext): Promise<Group>;
  readonly grants: Grants;
  readonly keys: SigningKeys;
  readonly secrets: Secrets;
  readonly authenticator: Authenticator;
  readonly accessTokens: AccessTokens;
  readonly loginTokens: LoginTokens;
  readonly exchange: TokenExchange;
  readonly users: UserLogins;
  readonly registrations: Registrations;
  readonly jwks: JwksCache;
  /** The issuers that the operator named. */
  readonly trustedIssuers: ReadonlySet<string>;
  /** For requests to issuers and identity providers. */
  readonly client: OutboundClient;
  readonly waits: WaitLimit;
  /** Audiences that tokens may be issued for. */
  readonly issuable: AudienceList;
  /** Logs in clients of the registry and of libraries. */
  readonly contentLogin: RegistryAuthenticator;
  /** The audience of tokens that are for the registry alone. */
  readonly contentAudience: string;
  /** Accounts of this server's own; undefined if the operator turned them off. */
  readonly localAccounts: LocalAccounts | undefined;
}
