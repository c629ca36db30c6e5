/** What services are given beside their calls. */
import type { Publication } from "./advisories/documents/publication.ts";
import type { RemoteImports } from "./advisories/import/remote/remote-imports.ts";
import type { PageTokens } from "./api/resource/page-token.ts";
import type { Redelivery } from "./events/delivery/redeliver.ts";
import type { Grants } from "./iam/grants/grants.ts";
import type { PkceSupport } from "./iam/identities/pkce-support.ts";
import type { Registrations } from "./iam/joining/register.ts";
import type { Secrets } from "./iam/secrets/secrets.ts";
import type { TokenExchange } from "./iam/tokens/exchange-token.ts";
import type { TokenTrials } from "./iam/tokens/token-trial.ts";
import type { Log } from "./lib/log.ts";
import type { VendorProfile } from "./lib/vendor-profile.ts";
import type { EventNames } from "./outbox/outbox.ts";
import type { EmptyRepo } from "./registry/content/empty-repo.ts";
import type { EmptyDirectory } from "./scim/empty-directory.ts";

export interface ServiceDependencies {
  readonly pageTokens: PageTokens;
  readonly grants: Grants;
  readonly exchange: TokenExchange;
  readonly registrations: Registrations;
  readonly tokenTrials: TokenTrials;
  readonly secrets: Secrets;
  readonly pkceSupport: PkceSupport;
  readonly emptyRepo: EmptyRepo;
  readonly emptyDirectory: EmptyDirectory;
  readonly log: Log;
  readonly profile: VendorProfile;
  /** Public URL of this server. */
  readonly baseUrl: string;
  /** Host, with its port where it has one, by which references to images name this server. */
  readonly registryHost: string;
  /** What events are called, and who is told of a new one. */
  readonly names: EventNames;
  /** Called when deliveries have become due, after they are stored. Must not throw. */
  readonly onDue: () => void;
  readonly redelivery: Redelivery;
  readonly publication: Publication;
  readonly remoteImports: RemoteImports;
  /** Networks that the operator lets Holt speak to, also without TLS. */
  readonly outboundAllowCidrs: readonly string[];
  /** Uid of the identity that this installation began with; it is staff everywhere. */
  readonly bootstrapOwner: string;
}
