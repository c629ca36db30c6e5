/** The parts that local accounts are composed of. */
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { GuessLimit } from "../pull-tokens/guess-limit.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { AccountEventParts } from "./account-events.ts";
import type { PasswordHashes } from "./password-hash.ts";
import type { Webauthn } from "./webauthn.ts";

export interface LocalAccountParts extends AccountEventParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly webauthn: Webauthn;
  readonly passwords: PasswordHashes;
  readonly guesses: GuessLimit;
}
