/**
 * Runs browser sign-ins step by step, without HTTP: to the provider, back, an optional question, and to the recipient
 * of the login.
 */

import { resolveLinkedAccount } from "../iam/accounts/account-links.ts";
import { linkName } from "../iam/accounts/link-account.ts";
import { memberAccount, operatorAccount, type PersonAccount } from "../iam/identities/person-account.ts";
import { isSharedIssuer, type UserLogins } from "../iam/identities/user-login.ts";
import { describeInvite } from "../iam/joining/invites.ts";
import { redeemerFromAccount } from "../iam/joining/register.ts";
import { findInvitedOrganization, findOrganizationWithSettings, type OrganizationPage } from "../iam/policy/organization-page.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import type { LoginClient } from "../iam/sessions/login-session.ts";
import { type Claims, normalizeIssuer, stringClaim } from "../iam/tokens/jwt.ts";
import type { Log } from "../lib/log.ts";
import type { AccountForm, OfferAccounts } from "./accounts/account-form.ts";
import type { AccountStep, OpenAccount } from "./accounts/account-step.ts";
import { catchRefusal } from "./catch-refusal.ts";
import { decideDevice, findDevice, formatUserCode, type WaitingDevice } from "./device.ts";
import { type FinishedSignIn, type FinishOptions, finish } from "./finish.ts";
import { programKey } from "./known-programs.ts";
import { type AcceptanceParts, acceptOffer, findOffers, type MembershipOffer } from "./membership-offers.ts";
import { insertPending, randomSecret, takePending } from "./pending.ts";
import { type PendingAccount, pendingAccount, restoreAccount } from "./pending-account.ts";
import type { ChosenProvider, ProviderChoice, Providers } from "./providers.ts";
import { SignInRefusal } from "./refusal.ts";
import { parseRequestedProvider, parseSignInRequest, type RequestedProvider, type SignInRequest } from "./request.ts";
import type { StartLimit } from "./start-limit.ts";
import type { SignInTable } from "./tables.ts";
import type { AuthorizationChecks, Upstreams } from "./upstream.ts";

/** The question on a confirmation page. */
export interface Question {
  /** The account that signed in: its email, or its name at the issuer. */
  readonly account: string;
  readonly invite: { readonly groupName: string; readonly roleName: string } | undefined;
  /**
   * The program or device that is signed in: a program by its key, a device by its displayed code and its claimed name.
   */
  readonly recipient: { readonly code: string; readonly name: string | undefined } | undefined;
  /** Host and port of the program on the same machine that is signed in. */
  readonly program: string | undefined;
}

export type SignInResult =
  | {
      readonly kind: "choose";
      readonly offer: ProviderChoice;
      readonly request: SignInRequest;
      readonly problem: string | undefined;
      readonly accounts?: AccountForm | undefined /** The query that the sign-in began with. */;
      readonly query: string;
    }
  /** Redirects the browser to the provider. */
  | { readonly kind: "leave"; readonly url: string }
  /** `returnUrl` is the program's address that the answer will lead to. */
  | { readonly kind: "ask"; readonly handle: string; readonly question: Question; readonly returnUrl: string | undefined }
  | (FinishedSignIn & { readonly offers?: OfferedMemberships | undefined })
  /** The person has joined an organization after the sign-in. */
  | { readonly kind: "joined"; readonly name: string; readonly offers: OfferedMemberships | undefined }
  /** Asks whether to link the open account with the person who has signed in at a provider. */
  | { readonly kind: "ask-link"; readonly handle: string; readonly person: string }
  | { readonly kind: "declined" }
  | { readonly kind: "refused"; readonly refusal: SignInRefusal };

/** Organizations that the person can join on the page, and the one-time handle of the answer. */
export interface OfferedMemberships {
  readonly handle: string;
  readonly organizations: readonly MembershipOffer[];
}

/** The sender of a request that begins a sign-in. */
export interface Beginner {
  /** Value of the browser's cookie, which this response may set. */
  readonly browser: string;
  readonly remoteAddress: string | undefined;
}

/** A browser that answers a page. */
export interface AnsweringBrowser {
  /** Undefined if it has no cookie. */
  readonly browser: string | undefined;
  readonly client: LoginClient;
}

/** A browser that continues a sign-in. */
export interface ReturningBrowser extends AnsweringBrowser {
  /** Keys of the programs that a person has confirmed in it. */
  readonly programs: readonly string[];
}

export interface SignIn {
  begin(query: URLSearchParams, by: Beginner): Promise<SignInResult>;
  /**
   * As `begin`, for the device that displays the code in the query.
   * @returns undefined if no device does
   */
  beginDevice(query: URLSearchParams, by: Beginner): Promise<SignInResult | undefined>;
  /** Continues when the browser returns from the provider. */
  returnFromProvider(query: URLSearchParams, by: ReturningBrowser): Promise<SignInResult>;
  /** Continues when the person has answered the question. */
  answer(handle: string, isYes: boolean, by: AnsweringBrowser): Promise<SignInResult>;
  /** Continues for a person who has signed in with an account of this server. */
  continueAs(account: PersonAccount, request: SignInRequest, by: ReturningBrowser): Promise<SignInResult>;
  /** Lets the person choose again how to sign in. */
  chooseAgain(then: { readonly request: SignInRequest; readonly query: string }, accounts: AccountForm): Promise<SignInResult>;
  /** Sends a person to an organization's provider, to link the open account with the person there. @throws SignInRefusal */
  beginLink(link: OpenAccount, provider: string, by: Beginner): Promise<SignInResult>;
  /** Joins one of the organizations that the page has offered. */
  join(handle: string, organization: string, browser: string | undefined): Promise<SignInResult>;
}

export interface SignInOptions extends FinishOptions, AcceptanceParts {
  readonly providers: Providers;
  readonly upstreams: Upstreams;
  readonly users: UserLogins;
  readonly secrets: Secrets;
  readonly limit: StartLimit;
  readonly log: Log;
  /** Undefined if this server has no accounts of its own. */
  readonly offerAccounts: OfferAccounts | undefined;
}

interface PendingAtProvider {
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

interface PendingQuestion extends PendingAccount {
  readonly request: SignInRequest;
}

interface PendingOffer extends PendingAccount {
  readonly organizations: readonly MembershipOffer[];
}

const LOST_SIGN_IN =
  "This browser did not begin this sign-in, or the sign-in took too long or is already finished. " +
  "Start again from where you began, in this same browser, and allow cookies of this site.";

const LOST_OFFER = "This page is too old, or was answered already. Open /oauth and sign in again: then it offers what is left to join.";
const DECLINED_INVITE = "You chose not to join, so you are not signed in. Start again without the invite.";
const DECLINED_PROGRAM = "You chose not to sign this program in.";

export function createSignIn(options: SignInOptions): SignIn {
  const { store, clock, providers, upstreams, users, secrets, limit, log, offerAccounts } = options;

  /** The organization that the person wants to join or to act in. */
  function organizationOf({ invite, organization = "" }: SignInRequest): Promise<OrganizationPage | undefined> {
    if (invite !== "") return findInvitedOrganization(store.reader, invite, clock.now());
    return findOrganizationWithSettings(store.reader, organization);
  }

  /** Leads to an organization's only provider without a question if its people have to use it. */
  async function choose(way: RequestedProvider, organization: OrganizationPage | undefined): Promise<ChosenProvider | undefined> {
    const isNamed = way.provider !== "" || way.wantsOperator;
    if (isNamed || organization === undefined) return providers.choose(store.reader, way);
    const [provider, ...others] = organization.providers;
    if (provider === undefined) return organization.policy.requiresOwnProvider ? undefined : providers.choose(store.reader, way);
    if (!organization.policy.requiresOwnProvider || others.length > 0) return undefined;
    return providers.choose(store.reader, { ...way, provider: provider.uid });
  }

  async function start(request: SignInRequest, query: URLSearchParams, by: Beginner): Promise<SignInResult> {
    const way = parseRequestedProvider(query);
    const organization = await organizationOf(request);
    const chosen = await choose(way, organization);
    const isNamed = way.provider !== "" || way.wantsOperator;
    const offer = await providers.offer(store.reader, organization);
    const mayUseAccount = offer.allowsLocalAccounts && !(isNamed && chosen !== undefined);
    const accounts = mayUseAccount ? await offerAccounts?.({ request, query: query.toString() }, by) : undefined;
    if (chosen === undefined || accounts !== undefined) {
      const problem = isNamed ? unknownProvider(way) : undefined;
      return { kind: "choose", offer, request, problem, accounts, query: query.toString() };
    }
    return leave(chosen, { request }, by);
  }

  /** Sends the browser to the provider. */
  async function leave(
    chosen: ChosenProvider,
    then: Pick<PendingAtProvider, "request" | "link">,
    { browser, remoteAddress }: Beginner,
  ): Promise<SignInResult> {
    limit.take(remoteAddress);
    const checks = { state: randomSecret(), nonce: randomSecret(), verifier: randomSecret() };
    const url = await upstreams.begin(chosen.upstream, checks);
    const { issuer, clientId } = chosen.upstream;
    const content: PendingAtProvider = { ...then, provider: chosen.record?.uid ?? "", issuer, clientId, ties: checks };
    await store.transaction((db) => insertPending(db, { handle: checks.state, browser, stage: "upstream", content }, clock.now(), secrets));
    return { kind: "leave", url };
  }

  function beginWith(parse: () => SignInRequest, query: URLSearchParams, by: Beginner): Promise<SignInResult> {
    let request: SignInRequest | undefined;
    return catchRefusal<SignInResult>(
      log,
      () => request?.goal,
      async () => {
        request = parse();
        return start(request, query, by);
      },
    );
  }

  /** The account that the provider's claims describe. */
  async function accountFromClaims(claims: Claims, { upstream, record }: ChosenProvider): Promise<PersonAccount> {
    const subject = stringClaim(claims, "sub") ?? "";
    if (subject === "") throw new SignInRefusal(502, "Your identity provider does not say who you are. Tell its administrator.");
    const context = { issuer: normalizeIssuer(upstream.issuer), subject, audience: upstream.clientId };
    if (record === undefined) return operatorAccount(claims, context);
    const isShared = await isSharedIssuer(store.reader, record, users);
    return memberAccount(claims, context, record, { isPresented: false, isShared });
  }

  async function complete(request: SignInRequest, account: PersonAccount, { browser = "", client }: AnsweringBrowser) {
    const finished = await finish(request, account, client, options);
    const provider = account.member?.provider.uid;
    log.info({ identity: account.identityUid, provider, goal: request.goal.kind }, "a person signed in");
    // A program shows no page.
    return finished.kind === "return" ? finished : { ...finished, offers: await offer(account, browser) };
  }

  async function offer(account: PersonAccount, browser: string): Promise<OfferedMemberships | undefined> {
    const organizations = await findOffers(store.reader, account);
    if (organizations.length === 0) return undefined;
    const handle = randomSecret();
    const content: PendingOffer = { ...pendingAccount(account), organizations };
    await store.transaction((db) => insertPending(db, { handle, browser, stage: "offer", content }, clock.now(), secrets));
    return { handle, organizations };
  }

  async function ask(request: SignInRequest, account: PersonAccount, browser: string): Promise<SignInResult> {
    const now = clock.now();
    const { invite, goal } = request;
    const described = invite === "" ? undefined : await describeInvite(store.reader, invite, redeemerFromAccount(account), now);
    const content: PendingQuestion = { request, ...pendingAccount(account) };
    const handle = randomSecret();
    await store.transaction((db) => insertPending(db, { handle, browser, stage: "confirm", content }, now, secrets));
    const question = {
      account: account.email ?? account.profile.actor.email ?? account.profile.upstream.name ?? account.subject,
      invite: described,
      recipient: describeRecipient(goal),
      program: goal.kind === "program" ? new URL(goal.returnUrl).host : undefined,
    };
    return { kind: "ask", handle, question, returnUrl: goal.kind === "program" ? goal.returnUrl : undefined };
  }

  async function askToLink(account: OpenAccount, person: PersonAccount, browser: string): Promise<SignInResult> {
    const handle = randomSecret();
    const content: AccountStep = { kind: "link", request: undefined, query: "", account, person: pendingAccount(person) };
    await store.transaction((db) => insertPending(db, { handle, browser, stage: "account", content }, clock.now(), secrets));
    return { kind: "ask-link", handle, person: linkName(person) };
  }

  function take<T>(stage: SignInTable["stage"], handle: string, browser: string | undefined): Promise<T | undefined> {
    if (handle === "" || browser === undefined) return Promise.resolve(undefined);
    return store.transaction((db) => takePending<T>(db, { handle, browser, stage }, clock.now(), secrets));
  }

  return {
    begin: (query, by) => beginWith(() => parseSignInRequest(query), query, by),

    async beginDevice(query, by) {
      const device = await findDevice(store.reader, query.get("user_code") ?? "", clock.now());
      return device && beginWith(() => requestFromDevice(device), query, by);
    },

    async returnFromProvider(query, { browser, programs, client }) {
      const state = query.get("state") ?? "";
      let pending: PendingAtProvider | undefined;
      return catchRefusal<SignInResult>(
        log,
        () => pending?.request.goal,
        async () => {
          // Comes first, since a state can be used only once, whatever happens next.
          pending = await take<PendingAtProvider>("upstream", state, browser);
          if (pending === undefined || browser === undefined) throw new SignInRefusal(400, LOST_SIGN_IN);
          const chosen = await providers.find(store.reader, pending.provider);
          const { request, ties: checks, issuer, clientId } = pending;
          if (chosen?.upstream.issuer !== issuer || chosen.upstream.clientId !== clientId) throw new SignInRefusal(400, LOST_SIGN_IN);
          const account = await accountFromClaims(await upstreams.finish(chosen.upstream, query, checks), chosen);
          if (pending.link !== undefined) return askToLink(pending.link, account, browser);
          const signedIn = await resolveLinkedAccount(store.reader, account);
          return mustAsk(request, signedIn, programs) ? ask(request, signedIn, browser) : complete(request, signedIn, { browser, client });
        },
      );
    },

    async answer(handle, isYes, { browser, client }) {
      let pending: PendingQuestion | undefined;
      return catchRefusal<SignInResult>(
        log,
        () => pending?.request.goal,
        async () => {
          pending = await take<PendingQuestion>("confirm", handle, browser);
          if (pending === undefined) throw new SignInRefusal(400, LOST_SIGN_IN);
          const { request } = pending;
          const { goal } = request;
          if (isYes) {
            const finished = await complete(request, await restoreAccount(store.reader, pending), { browser, client });
            const isProgram = finished.kind === "return" && goal.kind === "program";
            return isProgram ? { ...finished, program: programKey(goal, pending.account.identityUid) } : finished;
          }
          if (goal.kind === "program") throw new SignInRefusal(403, request.invite === "" ? DECLINED_PROGRAM : DECLINED_INVITE);
          if (goal.kind === "device") await store.transaction((db) => decideDevice(db, goal.deviceHash, undefined, clock.now()));
          return { kind: "declined" };
        },
      );
    },

    continueAs: (account, request, { browser = "", programs, client }) =>
      mustAsk(request, account, programs) ? ask(request, account, browser) : complete(request, account, { browser, client }),

    async chooseAgain(then, accounts) {
      return { kind: "choose", offer: await providers.offer(store.reader), ...then, problem: undefined, accounts };
    },

    async beginLink(link, provider, by) {
      const chosen = await providers.find(store.reader, provider);
      if (chosen?.record === undefined)
        throw new SignInRefusal(400, "Your organization has removed this provider. Open your account again.");
      return leave(chosen, { request: parseSignInRequest(new URLSearchParams()), link }, by);
    },

    join(handle, organization, browser) {
      return catchRefusal<SignInResult>(
        log,
        () => undefined,
        async () => {
          const pending = await take<PendingOffer>("offer", handle, browser);
          const offered = pending?.organizations.find(({ uid }) => uid === organization);
          if (pending === undefined || offered === undefined || browser === undefined) throw new SignInRefusal(400, LOST_OFFER);
          const account = await restoreAccount(store.reader, pending);
          if (!(await acceptOffer(account, organization, clock.now(), options))) throw new SignInRefusal(400, LOST_OFFER);
          log.info({ identity: account.identityUid, organization }, "a person joined an organization");
          return { kind: "joined", name: offered.name, offers: await offer(account, browser) };
        },
      );
    },
  };
}

/** An invite, a recipient elsewhere, and a program that the person has not confirmed in this browser need an answer. */
function mustAsk({ invite, goal }: SignInRequest, { identityUid }: PersonAccount, programs: readonly string[]): boolean {
  if (goal.kind === "program" && !programs.includes(programKey(goal, identityUid))) return true;
  return invite !== "" || describeRecipient(goal) !== undefined;
}

function describeRecipient(goal: SignInRequest["goal"]): Question["recipient"] {
  if (goal.kind === "headless") return { code: goal.code, name: undefined };
  return goal.kind === "device" ? { code: formatUserCode(goal.userCode), name: goal.clientId } : undefined;
}

function requestFromDevice({ device_hash: deviceHash, user_code: userCode, client_id: clientId }: WaitingDevice): SignInRequest {
  const goal = { kind: "device" as const, deviceHash, userCode, clientId };
  return { goal, audience: [], scopes: [], identity: "", invite: "", skipRegistration: false, wantsRefreshToken: false };
}

/** The same message whether the organization does not exist or has no identity provider. */
function unknownProvider({ provider }: RequestedProvider): string {
  return provider === ""
    ? "This server has no identity provider of its own."
    : "There is no sign-in under this name. Check how your organization's name is written here, or ask its administrator.";
}
