/**
 * Simulates a browser with cookies, redirects and forms, but without rendering. Tests with a real browser are in
 * browser.test.ts.
 */
import assert from "node:assert/strict";

const PROGRAM_QUESTION = /<h1>Sign in a program\?<\/h1>/;

export interface Answer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Visitor {
  /** Sends one request without following redirects. */
  visit(url: string, init?: { readonly method?: string; readonly form?: Readonly<Record<string, string>> }): Promise<Answer>;
  /**
   * Follows redirects from the URL to the first page of Holt, or to a program's address, which it does not request.
   * Signs in at the provider as `account`, or cancels there without one. Confirms a program on the same machine.
   */
  walk(url: string, account: string | undefined): Promise<Answer>;
  /** Signs in at the provider. Returns the callback URL without requesting it. */
  walkToCallback(url: string, account: string): Promise<string>;
  /** As `walk`, but stops at the question about a program. */
  walkToQuestion(url: string, account: string): Promise<Answer>;
  /** Submits the form of a page. */
  submit(page: Answer, fields: Readonly<Record<string, string>>): Promise<Answer>;
  /** The cookie header for this origin. */
  cookieOf(origin: string): string;
  /** Deletes all cookies of Holt. */
  forget(): void;
}

export function createVisitor(baseUrl: string, issuer: string): Visitor {
  const jars = new Map<string, Map<string, string>>();

  const cookieOf = (origin: string): string => [...(jars.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`).join("; ");

  async function visit(
    url: string,
    { method = "GET", form }: { method?: string; form?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const { origin } = new URL(url);
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    const cookie = cookieOf(origin);
    const response = await fetch(url, {
      method,
      redirect: "manual",
      headers: cookie === "" ? {} : { cookie },
      ...(form && { body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (line.split(";", 1)[0] ?? "").split("=", 2);
      jar.set(name, value);
    }
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  function submit(page: Answer, fields: Readonly<Record<string, string>>): Promise<Answer> {
    const form = /<form method="(get|post)" action="([^"]*)">([\s\S]*?)<\/form>/.exec(page.text);
    assert.ok(form, page.text);
    const hidden = [...(form[3] ?? "").matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
    const values = { ...Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, unescaped(value)])), ...fields };
    const target = new URL(form[2] ?? "", page.url);
    if (form[1] === "post") return visit(target.href, { method: "POST", form: values });
    target.search = new URLSearchParams(values).toString();
    return visit(target.href);
  }

  async function walkUntil(
    start: string,
    account: string | undefined,
    isEnd: (url: string, page?: Answer) => boolean,
  ): Promise<Answer | string> {
    let url = start;
    for (let steps = 0; steps < 15; steps++) {
      if (isEnd(url)) return url;
      const { origin } = new URL(url);
      if (origin !== baseUrl && origin !== issuer) return url;
      let answer = await visit(url);
      if (origin === issuer && answer.status === 200)
        answer = await visit(url, { method: "POST", form: { account: account ?? "", decision: account === undefined ? "no" : "yes" } });
      if (PROGRAM_QUESTION.test(answer.text) && !isEnd(url, answer)) answer = await submit(answer, { answer: "yes" });
      const location = answer.headers.get("location") ?? refreshOf(answer.text);
      if (location === undefined) return answer;
      url = new URL(location, url).href;
    }
    throw new Error(`the walk does not end: ${url}`);
  }

  async function walk(
    start: string,
    account: string | undefined,
    isEnd: (url: string, page?: Answer) => boolean = () => false,
  ): Promise<Answer> {
    const end = await walkUntil(start, account, isEnd);
    return typeof end === "string" ? { url: end, status: 0, headers: new Headers(), text: "" } : end;
  }

  return {
    visit,
    walk: (url, account) => walk(url, account),
    walkToQuestion: (url, account) => walk(url, account, (_url, page) => page !== undefined),
    async walkToCallback(start, account) {
      const end = await walkUntil(start, account, (url) => url.startsWith(`${baseUrl}/oauth/callback`));
      assert.equal(typeof end, "string", JSON.stringify(end));
      return end as string;
    },
    submit,
    cookieOf,
    forget: () => void jars.delete(baseUrl),
  };
}

/** The URL that a page redirects the browser to. */
function refreshOf(text: string): string | undefined {
  const url = /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(text)?.[1];
  return url === undefined ? undefined : unescaped(url);
}

function unescaped(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
