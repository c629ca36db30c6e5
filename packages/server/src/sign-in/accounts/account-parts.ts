/** The parts that the pages of local accounts are composed of. */
import type { Store } from "../../db/store.ts";
import type { LocalAccounts } from "../../iam/accounts/local-accounts.ts";
import type { Grants } from "../../iam/grants/grants.ts";
import type { Registrations } from "../../iam/joining/register.ts";
import type { Secrets } from "../../iam/secrets/secrets.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Mailer } from "../../mail/mail.ts";
import type { EventNames } from "../../outbox/outbox.ts";
import type { SignIn } from "../sign-in.ts";
import type { StartLimit } from "../start-limit.ts";
import type { OfferAccounts } from "./account-form.ts";
import type { AccountSteps } from "./account-step.ts";

export interface AccountParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly names: EventNames;
  readonly mailer: Mailer;
  readonly grants: Grants;
  readonly baseUrl: string;
  readonly limit: StartLimit;
  readonly steps: AccountSteps;
  readonly localAccounts: LocalAccounts;
  readonly registrations: Registrations;
  readonly signIn: SignIn;
  readonly offerAccounts: OfferAccounts;
}
