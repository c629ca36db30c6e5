/** The parts that the steps of a sign-in are composed of. */
import type { UserLogins } from "../iam/identities/user-login.ts";
import type { Log } from "../lib/log.ts";
import type { OfferAccounts } from "./accounts/account-form.ts";
import type { AccountSteps } from "./accounts/account-step.ts";
import type { FinishOptions } from "./finish.ts";
import type { AcceptanceParts } from "./membership-offers.ts";
import type { PendingSteps } from "./pending-steps.ts";
import type { Providers } from "./providers.ts";
import type { StartLimit } from "./start-limit.ts";
import type { Upstreams } from "./upstream.ts";

export interface SignInParts extends FinishOptions, AcceptanceParts {
  readonly providers: Providers;
  readonly upstreams: Upstreams;
  readonly users: UserLogins;
  readonly limit: StartLimit;
  readonly log: Log;
  readonly pending: PendingSteps;
  readonly accountSteps: AccountSteps;
  /** Undefined if this server has no accounts of its own. */
  readonly offerAccounts: OfferAccounts | undefined;
}
