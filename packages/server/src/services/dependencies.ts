/** What services are given beside their calls. */

import type { Publication } from "../advisories/publication.ts";
import type { RemoteImports } from "../advisories/remote/remote-imports.ts";
import type { TokenExchange } from "../auth/exchange-token.ts";
import type { Grants } from "../auth/grants.ts";
import type { PkceSupport } from "../auth/pkce-support.ts";
import type { Registrations } from "../auth/register.ts";
import type { Secrets } from "../auth/secrets.ts";
import type { TokenTrials } from "../auth/token-trial.ts";
import type { EventNames } from "../events/outbox.ts";
import type { Redelivery } from "../events/redeliver.ts";
import type { Log } from "../lib/log.ts";
import type { VendorProfile } from "../lib/vendor-profile.ts";
import type { EmptyRepo } from "../registry/empty-repo.ts";
import type { PageTokens } from "../resource/page-token.ts";
import type { EmptyDirectory } from "../scim/empty-directory.ts";

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
  readonly remoteImports: RemoteImports;
  readonly publication: Publication;
  /** Networks that the operator lets Holt speak to, also without TLS. */
  readonly outboundAllowCidrs: readonly string[];
  /** Uid of the identity that this installation began with; it is staff everywhere. */
  readonly bootstrapOwner: string;
}
