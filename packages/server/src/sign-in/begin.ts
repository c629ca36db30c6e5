/** Begins a sign-in: goes to the provider that the request leads to, or lets the person choose. */
import { findInvitedOrganization, findOrganizationWithSettings, type OrganizationPage } from "../iam/policy/organization-page.ts";
import type { AccountForm } from "./accounts/account-form.ts";
import { leaveForProvider } from "./at-provider.ts";
import type { BeginningBrowser } from "./browser.ts";
import type { ChosenProvider } from "./providers.ts";
import { parseRequestedProvider, type RequestedProvider, type SignInRequest } from "./request.ts";
import type { SignInParts } from "./sign-in-parts.ts";
import type { SignInResult } from "./sign-in-result.ts";

/** @throws SignInRefusal, HoltError */
export async function begin(
  request: SignInRequest,
  query: URLSearchParams,
  by: BeginningBrowser,
  parts: SignInParts,
): Promise<SignInResult> {
  const { store, providers, offerAccounts } = parts;
  const requested = parseRequestedProvider(query);
  const organization = await findOrganization(request, parts);
  const chosen = await chooseProvider(requested, organization, parts);
  const offer = await providers.offer(store.reader, organization);
  const mayUseAccount = offer.allowsLocalAccounts && !(isNamed(requested) && chosen !== undefined);
  const accounts = mayUseAccount ? await offerAccounts?.({ request, query: query.toString() }, by) : undefined;
  if (chosen !== undefined && accounts === undefined) return leaveForProvider(chosen, { request }, by, parts);
  const problem = isNamed(requested) ? unknownProvider(requested) : undefined;
  return { kind: "choose", offer, request, problem, accounts, query: query.toString() };
}

/** Lets the person choose again how to sign in. */
export async function chooseAgain(
  then: { readonly request: SignInRequest; readonly query: string },
  accounts: AccountForm,
  parts: SignInParts,
): Promise<SignInResult> {
  const offer = await parts.providers.offer(parts.store.reader, await findOrganization(then.request, parts));
  return { kind: "choose", offer, ...then, problem: undefined, accounts };
}

/** The organization that the person wants to join or to act in. */
function findOrganization(
  { invite, organization = "" }: SignInRequest,
  { store, clock }: SignInParts,
): Promise<OrganizationPage | undefined> {
  if (invite !== "") return findInvitedOrganization(store.reader, invite, clock.now());
  return findOrganizationWithSettings(store.reader, organization);
}

/** Leads to an organization's only provider without a question if its people have to use it. */
async function chooseProvider(
  requested: RequestedProvider,
  organization: OrganizationPage | undefined,
  { store, providers }: SignInParts,
): Promise<ChosenProvider | undefined> {
  if (isNamed(requested) || organization === undefined) return providers.choose(store.reader, requested);
  const { requiresOwnProvider } = organization.policy;
  const [provider, ...others] = organization.providers;
  if (provider === undefined) return requiresOwnProvider ? undefined : providers.choose(store.reader, requested);
  if (!requiresOwnProvider || others.length > 0) return undefined;
  return providers.choose(store.reader, { ...requested, provider: provider.uid });
}

function isNamed({ provider, wantsOperator }: RequestedProvider): boolean {
  return provider !== "" || wantsOperator;
}

/** The same message whether the organization does not exist or has no identity provider. */
function unknownProvider({ provider }: RequestedProvider): string {
  return provider === ""
    ? "This server has no identity provider of its own."
    : "There is no sign-in under this name. Check how your organization's name is written here, or ask its administrator.";
}
