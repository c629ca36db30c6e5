/** Signing in with a browser: `/oauth` and all below, for programs, devices and machines without a browser. */
import type { Platform, Served } from "../api/domain.ts";
import { compileProxyAddresses } from "../http/proxy-addresses.ts";
import type { Iam } from "../iam/iam.ts";
import { createAccountOffer } from "./accounts/account-form.ts";
import { createAccountSignIn } from "./accounts/account-sign-in.ts";
import { createAccountSteps } from "./accounts/account-step.ts";
import { createConsoleSessions } from "./console-sessions.ts";
import { createDeviceGrant } from "./device-grant.ts";
import { createSignInHandler } from "./http/sign-in-handler.ts";
import { PENDING_MS } from "./pending.ts";
import { createPendingSteps } from "./pending-steps.ts";
import { createProviders } from "./providers.ts";
import { createSignIn } from "./sign-in.ts";
import { createStartLimit } from "./start-limit.ts";
import { createUpstreams } from "./upstream.ts";

/** Sign-ins that began within a quarter of an hour on this server. Most take about a kilobyte; one with a long address takes up to 40. */
const MAX_SIGN_INS = 60_000;
/** Wrong device codes within a minute. */
const MAX_GUESSES = 300;
const GUESSES_MS = 60_000;

/** The operator's own provider; empty strings for none. */
export interface SignInSettings {
  readonly loginIssuer: string;
  readonly loginClientId: string;
  readonly loginClientSecret: string;
  /** Networks of the reverse proxies in front of this server, in CIDR notation. */
  readonly trustedProxies: readonly string[];
}

export function startSignIn(platform: Platform, iam: Iam, settings: SignInSettings): Served {
  const { store, clock, log, memory, names, frame, baseUrl, bootstrapOwner, mailer } = platform;
  const { loginIssuer: issuer, loginClientId: clientId, loginClientSecret: clientSecret } = settings;
  const parts = { ...iam, store, clock, log, names, mailer };
  const providers = createProviders(issuer === "" ? undefined : { issuer, clientId, clientSecret }, iam.secrets);
  const upstreams = createUpstreams({ ...parts, redirectUri: `${baseUrl}/oauth/callback` });
  const isProxy = compileProxyAddresses(settings.trustedProxies);
  const limit = createStartLimit({ clock, isProxy, maxStarts: MAX_SIGN_INS, windowMs: PENDING_MS });
  const pending = createPendingSteps(parts);
  const steps = createAccountSteps(pending);
  const { localAccounts } = iam;
  const offerAccounts = localAccounts && createAccountOffer({ store, localAccounts, steps, limit });
  const signIn = createSignIn({ ...parts, providers, upstreams, limit, pending, accountSteps: steps, offerAccounts });
  const deviceGrant = createDeviceGrant({ ...parts, limit });
  const consoleSessions = createConsoleSessions({ ...parts, bootstrapOwner, baseUrl });
  const guesses = createStartLimit({ clock, isProxy, maxStarts: MAX_GUESSES, windowMs: GUESSES_MS });
  const accounts =
    localAccounts && offerAccounts && createAccountSignIn({ ...parts, baseUrl, limit, steps, localAccounts, signIn, offerAccounts });
  const serve = createSignInHandler({
    frame,
    signIn,
    deviceGrant,
    consoleSessions,
    clock,
    guesses,
    store,
    memory,
    log,
    baseUrl,
    secrets: iam.secrets,
    accounts,
    confirmation: { ...parts, baseUrl },
  });
  return { mounts: [{ paths: ["/oauth", "/oauth/*", "/orgcheck"], serve }] };
}
