/** The endpoints that browsers visit: sign-in itself, the answers of a person, and the form for the code of a device. */
import type { Store } from "../../db/store.ts";
import { send } from "../../http/http-exchange.ts";
import { findOrganizationProvider } from "../../iam/identities/identity-provider-record.ts";
import { addProgram } from "../known-programs.ts";
import type { SignIn } from "../sign-in.ts";
import type { StartLimit } from "../start-limit.ts";
import type { BrowserAnswers } from "./browser-answers.ts";
import { newBrowser } from "./cookie.ts";
import { devicePage } from "./pages.ts";
import { sendPage } from "./send-page.ts";
import { clientOf, type Endpoint, type SignInExchange } from "./sign-in-exchange.ts";

export interface BrowserEndpointsOptions {
  readonly signIn: SignIn;
  /** Limits how often people enter a code that no device shows: a typing error, or a guess. */
  readonly guesses: StartLimit;
  readonly store: Store;
}

/** @returns the endpoints by path */
export function createBrowserEndpoints(
  options: BrowserEndpointsOptions,
  answers: BrowserAnswers,
): readonly (readonly [string, Endpoint])[] {
  const { signIn, store } = options;
  const { cookie, programsCookie, send: answer } = answers;

  async function begin(exchange: SignInExchange): Promise<void> {
    const query = queryOf(exchange);
    const browser = cookie.read(exchange.request) ?? newBrowser();
    const { remoteAddress } = exchange;
    answer(exchange.response, await signIn.begin(query, { browser, remoteAddress }), { query, action: "/oauth", browser });
  }

  async function comeBack(exchange: SignInExchange): Promise<void> {
    const query = queryOf(exchange);
    const { request, response } = exchange;
    const by = { browser: cookie.read(request), programs: programsCookie.read(request), client: clientOf(exchange) };
    answer(response, await signIn.returnFromProvider(query, by), { query, action: "/oauth" });
  }

  async function takeAnswer(exchange: SignInExchange): Promise<void> {
    const { request, response, state } = exchange;
    const { form } = state;
    const by = { browser: cookie.read(request), client: clientOf(exchange) };
    const outcome = await signIn.answer(form.get("handle") ?? "", form.get("answer") === "yes", by);
    if (outcome.kind === "return" && outcome.program !== undefined)
      response.setHeader("set-cookie", programsCookie.header(addProgram(programsCookie.read(request), outcome.program)));
    answer(response, outcome, { query: new URLSearchParams({ from: "page" }), action: "/oauth" });
  }

  async function join({ request, response, state: { form } }: SignInExchange): Promise<void> {
    const outcome = await signIn.join(form.get("handle") ?? "", form.get("organization") ?? "", cookie.read(request));
    answer(response, outcome, { query: new URLSearchParams({ from: "page" }), action: "/oauth" });
  }

  async function checkOrganization(exchange: SignInExchange): Promise<void> {
    const found = await findOrganizationProvider(store.reader, queryOf(exchange).get("name") ?? "");
    send(exchange.response, 200, { type: "application/json", text: String(found !== undefined) }, { "cache-control": "no-store" });
  }

  return [
    ["/oauth", { method: "GET", serve: begin }],
    ["/oauth/callback", { method: "GET", serve: comeBack }],
    ["/oauth/answer", { method: "POST", serve: takeAnswer }],
    ["/oauth/join", { method: "POST", serve: join }],
    ["/oauth/device", { method: "GET", serve: createDeviceForm(options, answers) }],
    ["/orgcheck", { method: "GET", serve: checkOrganization }],
  ];
}

/** The form for the code that a device shows. With a code, it begins the sign-in. */
function createDeviceForm({ signIn, guesses }: BrowserEndpointsOptions, { cookie, send: answer }: BrowserAnswers): Endpoint["serve"] {
  return async (exchange) => {
    const { request, response, remoteAddress } = exchange;
    const query = queryOf(exchange);
    const enteredCode = query.get("user_code");
    if (enteredCode === null) return sendPage(response, devicePage(undefined));
    const browser = cookie.read(request) ?? newBrowser();
    // Counted before the lookup, so that neither a right code nor parallel requests pass beyond the limit.
    const takeBack = guesses.take(remoteAddress);
    const outcome = await signIn.beginDevice(query, { browser, remoteAddress });
    if (outcome === undefined) return sendPage(response, devicePage(enteredCode.slice(0, 20)));
    takeBack();
    answer(response, outcome, { query, action: "/oauth/device", browser });
  };
}

function queryOf({ query }: SignInExchange): URLSearchParams {
  return new URLSearchParams(query);
}
