/** Assembles the accounts of this server, with their limit of wrong guesses. */
import type { Platform } from "../../api/domain.ts";
import type { IsProxy } from "../../http/proxy-addresses.ts";
import { createGuessLimit, type GuessPolicy } from "../pull-tokens/guess-limit.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { createLocalAccounts, type LocalAccounts } from "./local-accounts.ts";
import { createPasswordHashes } from "./password-hash.ts";
import { createWebauthn } from "./webauthn.ts";

/** More mistakes than people make, and too few guesses to find a password and a second factor. */
const ACCOUNT_GUESSES: GuessPolicy = {
  windowMs: 15 * 60_000,
  maxWrongPerUserName: 10,
  maxWrongPerAddress: 100,
  maxWrongFromAllAddresses: 50,
  refusal: "too many wrong attempts; wait a quarter of an hour, or use a passkey",
};

export function startLocalAccounts({ store, clock, names, mailer, baseUrl }: Platform, secrets: Secrets, isProxy: IsProxy): LocalAccounts {
  const guesses = createGuessLimit(clock, isProxy, ACCOUNT_GUESSES);
  const webauthn = createWebauthn(baseUrl);
  const passwords = createPasswordHashes();
  return createLocalAccounts({ store, clock, secrets, names, mailer, webauthn, passwords, guesses });
}
