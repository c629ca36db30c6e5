/** Signing in with a browser, step by step and without HTTP: to the provider, back, perhaps a question, and to whoever waits. */
import { findIdentityProvider } from "../iam/identities/identity-provider-record.ts";
import { memberAccount, operatorAccount, type PersonAccount } from "../iam/identities/person-account.ts";
import { isSharedIssuer, type UserLogins } from "../iam/identities/user-login.ts";
import { describeInvite } from "../iam/joining/invites.ts";
import { redeemerFromAccount } from "../iam/joining/register.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { type Claims, normalizeIssuer, stringClaim } from "../iam/tokens/jwt.ts";
import type { Log } from "../lib/log.ts";
import { decideDevice, findDevice, shownCode, type WaitingDevice } from "./device.ts";
import { type Finished, type FinishOptions, finish } from "./finish.ts";
import { insertPending, randomText, takePending } from "./pending.ts";
import type { Chosen, Offer, Providers } from "./providers.ts";
import { refusalFrom, SignInRefusal } from "./refusal.ts";
import { parseSignInRequest, parseWay, type SignInRequest, type Way } from "./request.ts";
import { withError } from "./return-url.ts";
import type { StartLimit } from "./start-limit.ts";
import type { Ties, Upstreams } from "./upstream.ts";

/** What a page asks before anything is done. */
export interface Question {
  /** Whom the person signed in as: an email, or the account's name at its issuer. */
  readonly account: string;
  readonly invite: { readonly groupName: string; readonly roleName: string } | undefined;
  /** What is signed in elsewhere: a program by its key, or a device by the code it shows and what it says it is. */
  readonly elsewhere: { readonly code: string; readonly name: string | undefined } | undefined;
}

export type Outcome =
  | { readonly kind: "choose"; readonly offer: Offer; readonly request: SignInRequest; readonly problem: string | undefined }
  /** The browser goes to the provider. */
  | { readonly kind: "leave"; readonly url: string }
  /** @param returnUrl of the program, to which the answer will lead */
  | { readonly kind: "ask"; readonly handle: string; readonly question: Question; readonly returnUrl: string | undefined }
  | Finished
  | { readonly kind: "declined" }
  | { readonly kind: "refused"; readonly refusal: SignInRefusal };

export interface SignIn {
  /** @param browser what the cookie of the browser holds, or will from this answer on */
  begin(query: URLSearchParams, browser: string): Promise<Outcome>;
  /** The same for the device that shows the code in the query. Undefined where none does. */
  beginDevice(query: URLSearchParams, browser: string): Promise<Outcome | undefined>;
  /** The browser comes back from the provider. @param browser undefined where it has no cookie */
  comeBack(query: URLSearchParams, browser: string | undefined): Promise<Outcome>;
  /** The person has answered the page's question. */
  answer(handle: string, isYes: boolean, browser: string | undefined): Promise<Outcome>;
}

export interface SignInOptions extends FinishOptions {
  readonly providers: Providers;
  readonly upstreams: Upstreams;
  readonly users: UserLogins;
  readonly secrets: Secrets;
  readonly limit: StartLimit;
  readonly log: Log;
}

interface AtProvider {
  readonly request: SignInRequest;
  /** Uid of the identity provider; empty for the operator's. */
  readonly provider: string;
  /** Of the provider then. If it is another one when the browser comes back, the code must not be told to it. */
  readonly issuer: string;
  readonly clientId: string;
  readonly ties: Ties;
}

/** The account without what the database knows of its provider. */
interface AtQuestion {
  readonly request: SignInRequest;
  readonly account: Omit<PersonAccount, "member">;
  readonly member:
    | { readonly provider: string; readonly issuer: string; readonly externalId: string; readonly groups: readonly string[] }
    | undefined;
}

const LOST =
  "This sign-in is not one that this browser began, or it has taken too long, or it was finished before. Start again from where you began, in this same browser, and allow cookies of this site.";

export function createSignIn(options: SignInOptions): SignIn {
  const { store, clock, providers, upstreams, users, secrets, limit, log } = options;

  async function start(request: SignInRequest, way: Way, browser: string): Promise<Outcome> {
    const chosen = await providers.choose(store.reader, way);
    if (chosen === undefined) {
      const isNamed = way.provider !== "" || way.operators;
      return { kind: "choose", offer: await providers.offer(store.reader), request, problem: isNamed ? unknownWay(way) : undefined };
    }
    limit.take();
    const ties = { state: randomText(), nonce: randomText(), verifier: randomText() };
    const url = await upstreams.begin(chosen.upstream, ties);
    const { issuer, clientId } = chosen.upstream;
    const content: AtProvider = { request, provider: chosen.record?.uid ?? "", issuer, clientId, ties };
    await store.transaction((db) => insertPending(db, { handle: ties.state, browser, stage: "upstream", content }, clock.now(), secrets));
    return { kind: "leave", url };
  }

  /** Where a program waits it is told; otherwise a page tells the person. */
  async function guarded(goalOf: () => SignInRequest["goal"] | undefined, work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work();
    } catch (error) {
      const refusal = refusalFrom(error, log);
      const goal = goalOf();
      log.info({ status: refusal.status, goal: goal?.kind }, "a sign-in was refused");
      return goal?.kind === "program" ? { kind: "return", url: withError(goal.returnUrl, refusal) } : { kind: "refused", refusal };
    }
  }

  function beginWith(parse: () => SignInRequest, query: URLSearchParams, browser: string): Promise<Outcome> {
    let request: SignInRequest | undefined;
    return guarded(
      () => request?.goal,
      async () => {
        request = parse();
        return start(request, parseWay(query), browser);
      },
    );
  }

  /** The account that the provider vouches for. */
  async function accountOf(claims: Claims, { upstream, record }: Chosen): Promise<PersonAccount> {
    const subject = stringClaim(claims, "sub") ?? "";
    if (subject === "") throw new SignInRefusal(502, "Your identity provider does not say who you are. Tell whoever administers it.");
    const context = { issuer: normalizeIssuer(upstream.issuer), subject, audience: upstream.clientId };
    if (record === undefined) return operatorAccount(claims, context);
    return memberAccount(claims, context, record, await isSharedIssuer(store.reader, record, users));
  }

  async function complete(request: SignInRequest, account: PersonAccount): Promise<Finished> {
    const finished = await finish(request, account, options);
    const provider = account.member?.provider.uid;
    log.info({ identity: account.identityUid, provider, goal: request.goal.kind }, "somebody signed in");
    return finished;
  }

  async function ask(request: SignInRequest, account: PersonAccount, browser: string): Promise<Outcome> {
    const now = clock.now();
    const { invite, goal } = request;
    const described = invite === "" ? undefined : await describeInvite(store.reader, invite, redeemerFromAccount(account), now);
    const { member, ...rest } = account;
    const kept = member && {
      provider: member.provider.uid,
      issuer: member.provider.issuer,
      externalId: member.externalId,
      groups: member.groups,
    };
    const content: AtQuestion = { request, account: rest, member: kept };
    const handle = randomText();
    await store.transaction((db) => insertPending(db, { handle, browser, stage: "confirm", content }, now, secrets));
    const question = {
      account: account.email ?? account.profile.actor.email ?? account.subject,
      invite: described,
      elsewhere: elsewhereOf(goal),
    };
    return { kind: "ask", handle, question, returnUrl: goal.kind === "program" ? goal.returnUrl : undefined };
  }

  async function restore({ account, member }: AtQuestion): Promise<PersonAccount> {
    if (member === undefined) return { ...account, member: undefined };
    const provider = await findIdentityProvider(store.reader, member.provider);
    // While the page asked, it may have become another one.
    if (provider === undefined || provider.issuer !== member.issuer) throw new SignInRefusal(400, LOST);
    return { ...account, member: { provider, externalId: member.externalId, groups: member.groups } };
  }

  function take<T>(stage: "upstream" | "confirm", handle: string, browser: string | undefined): Promise<T | undefined> {
    if (handle === "" || browser === undefined) return Promise.resolve(undefined);
    return store.transaction((db) => takePending<T>(db, { handle, browser, stage }, clock.now(), secrets));
  }

  return {
    begin: (query, browser) => beginWith(() => parseSignInRequest(query), query, browser),

    async beginDevice(query, browser) {
      const device = await findDevice(store.reader, query.get("user_code") ?? "", clock.now());
      return device && beginWith(() => requestOfDevice(device), query, browser);
    },

    async comeBack(query, browser) {
      const state = query.get("state") ?? "";
      let pending: AtProvider | undefined;
      return guarded(
        () => pending?.request.goal,
        async () => {
          // First, and whatever comes of it: a state serves once.
          pending = await take<AtProvider>("upstream", state, browser);
          if (pending === undefined || browser === undefined) throw new SignInRefusal(400, LOST);
          const chosen = await providers.again(store.reader, pending.provider);
          const { request, ties, issuer, clientId } = pending;
          if (chosen?.upstream.issuer !== issuer || chosen.upstream.clientId !== clientId) throw new SignInRefusal(400, LOST);
          const account = await accountOf(await upstreams.finish(chosen.upstream, query, ties), chosen);
          const mustAsk = request.invite !== "" || elsewhereOf(request.goal) !== undefined;
          return mustAsk ? ask(request, account, browser) : complete(request, account);
        },
      );
    },

    async answer(handle, isYes, browser) {
      let pending: AtQuestion | undefined;
      return guarded(
        () => pending?.request.goal,
        async () => {
          pending = await take<AtQuestion>("confirm", handle, browser);
          if (pending === undefined) throw new SignInRefusal(400, LOST);
          const { request } = pending;
          if (isYes) return complete(request, await restore(pending));
          const { goal } = request;
          if (goal.kind === "program")
            throw new SignInRefusal(403, "You chose not to join, so you are not signed in. Start again without the invite.");
          if (goal.kind === "device") await store.transaction((db) => decideDevice(db, goal.deviceHash, undefined, clock.now()));
          return { kind: "declined" };
        },
      );
    },
  };
}

function elsewhereOf(goal: SignInRequest["goal"]): Question["elsewhere"] {
  if (goal.kind === "headless") return { code: goal.code, name: undefined };
  return goal.kind === "device" ? { code: shownCode(goal.userCode), name: goal.clientId } : undefined;
}

function requestOfDevice({ device_hash: deviceHash, user_code: userCode, client_id: clientId }: WaitingDevice): SignInRequest {
  const goal = { kind: "device" as const, deviceHash, userCode, clientId };
  return { goal, audience: [], scopes: [], identity: "", invite: "", skipRegistration: false, wantsRefreshToken: false };
}

/** In the same words whether there is no such organization or it has no identity provider. */
function unknownWay({ provider }: Way): string {
  return provider === ""
    ? "This server has no identity provider of its own."
    : "There is no sign-in under this name. Check how your organization's name is written here, or ask whoever administers it.";
}
