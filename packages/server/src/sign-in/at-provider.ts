/** Sends the browser to an identity provider, and reads who has signed in there when it returns. */
import { memberAccount, operatorAccount, type PersonAccount } from "../iam/identities/person-account.ts";
import { isSharedIssuer } from "../iam/identities/user-login.ts";
import { type Claims, normalizeIssuer, stringClaim } from "../iam/tokens/jwt.ts";
import type { OpenAccount } from "./accounts/account-step.ts";
import type { BeginningBrowser } from "./browser.ts";
import { randomSecret } from "./pending.ts";
import type { ChosenProvider } from "./providers.ts";
import { LOST_SIGN_IN, SignInRefusal } from "./refusal.ts";
import type { SignInRequest } from "./request.ts";
import type { SignInParts } from "./sign-in-parts.ts";
import type { SignInResult } from "./sign-in-result.ts";
import type { AuthorizationChecks } from "./upstream.ts";

/** The stored step of a browser that is at a provider. */
export interface PendingAtProvider {
  readonly request: SignInRequest;
  /** Uid of the identity provider; empty for the operator's. */
  readonly provider: string;
  /**
   * The provider's issuer at the start. If it changes before the browser returns, the code must not be sent to the new
   * one.
   */
  readonly issuer: string;
  readonly clientId: string;
  /** Stored under this name. */
  readonly ties: AuthorizationChecks;
  /** The local account that the person links with the provider's; left out where the person signs in. */
  readonly link?: OpenAccount;
}

/** @throws SignInRefusal */
export async function leaveForProvider(
  chosen: ChosenProvider,
  then: Pick<PendingAtProvider, "request" | "link">,
  { browser, remoteAddress }: BeginningBrowser,
  { limit, upstreams, pending }: SignInParts,
): Promise<SignInResult> {
  limit.take(remoteAddress);
  const checks = { state: randomSecret(), nonce: randomSecret(), verifier: randomSecret() };
  const url = await upstreams.begin(chosen.upstream, checks);
  const { issuer, clientId } = chosen.upstream;
  const content: PendingAtProvider = { ...then, provider: chosen.record?.uid ?? "", issuer, clientId, ties: checks };
  await pending.store({ handle: checks.state, browser, stage: "upstream", content });
  return { kind: "leave", url };
}

/**
 * @param query the query that the browser returned with
 * @throws SignInRefusal
 */
export async function readAccountAtProvider(
  { provider, issuer, clientId, ties: checks }: PendingAtProvider,
  query: URLSearchParams,
  parts: SignInParts,
): Promise<PersonAccount> {
  const chosen = await parts.providers.find(parts.store.reader, provider);
  if (chosen?.upstream.issuer !== issuer || chosen.upstream.clientId !== clientId) throw new SignInRefusal(400, LOST_SIGN_IN);
  return accountFromClaims(await parts.upstreams.finish(chosen.upstream, query, checks), chosen, parts);
}

async function accountFromClaims(
  claims: Claims,
  { upstream, record }: ChosenProvider,
  { store, users }: SignInParts,
): Promise<PersonAccount> {
  const subject = stringClaim(claims, "sub") ?? "";
  if (subject === "") throw new SignInRefusal(502, "Your identity provider does not say who you are. Tell its administrator.");
  const context = { issuer: normalizeIssuer(upstream.issuer), subject, audience: upstream.clientId };
  if (record === undefined) return operatorAccount(claims, context);
  const isShared = await isSharedIssuer(store.reader, record, users);
  return memberAccount(claims, context, record, { isPresented: false, isShared });
}
