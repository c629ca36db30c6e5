/** Sessions of browsers with the console, over HTTP. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { openSecrets } from "../../src/iam/secrets/secrets-key.ts";
import { createSignInLink, LINK_LIFETIME_MS } from "../../src/sign-in/sign-in-link.ts";
import { storeNames } from "../harness/harness.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const FROM_CONSOLE = { "x-holt-console": "1", "sec-fetch-site": "same-origin" };
const DAY_MS = 24 * 3_600_000;

interface Answer {
  readonly status: number;
  readonly json: { readonly access_token?: string; readonly expires_in?: number; readonly error_description?: string };
  readonly setCookie: string;
  /** The cookie as the browser sends it back. */
  readonly cookie: string;
}

for (const store of storeNames) {
  describe(`sessions with the console on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store })));
    after(() => world[Symbol.asyncDispose]());

    async function post(path: string, form: Record<string, string>, headers: Record<string, string> = FROM_CONSOLE): Promise<Answer> {
      const response = await fetch(world.baseUrl + path, { method: "POST", headers, body: new URLSearchParams(form) });
      const setCookie = response.headers.get("set-cookie") ?? "";
      return {
        status: response.status,
        json: (await response.json()) as Answer["json"],
        setCookie,
        cookie: setCookie.split(";", 1)[0] ?? "",
      };
    }
    const renew = (cookie: string, headers = FROM_CONSOLE) =>
      post("/oauth/session", { grant_type: "refresh_token" }, { ...headers, cookie });

    async function newSecret(): Promise<string> {
      const secrets = await openSecrets({ store: world.store, dataDir: world.dataDir, key: undefined });
      const link = await world.store.transaction((db) => createSignInLink(db, world.baseUrl, world.clock.now(), secrets));
      return new URLSearchParams(new URL(link).hash.slice(1)).get("link") ?? "";
    }
    const signInByLink = async () => post("/oauth/session", { grant_type: "link", secret: await newSecret() });

    /** Signs in at the organization's provider, up to the code. */
    async function codeFor(account: string, verifier: string): Promise<string> {
      const challenge = createHash("sha256").update(verifier).digest("base64url");
      const query = {
        response_type: "code",
        redirect_uri: "/console/sign-in",
        state: randomBytes(32).toString("base64url"),
        code_challenge: challenge,
        code_challenge_method: "S256",
        idp_id: "acme.test",
      };
      const visitor = world.visitor();
      const { headers } = await visitor.visit(await visitor.walkToCallback(world.oauth(query), account));
      const location = new URL(headers.get("location") ?? "", world.baseUrl);
      assert.equal(location.origin + location.pathname, `${world.baseUrl}/console/sign-in`);
      assert.equal(location.searchParams.get("state"), query.state);
      return location.searchParams.get("code") ?? "";
    }

    test("a link signs the bootstrap owner in once", async () => {
      const secret = await newSecret();
      const answers = await Promise.all(Array.from({ length: 4 }, () => post("/oauth/session", { grant_type: "link", secret })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400]);
      const signedIn = answers.find(({ status }) => status === 200);
      const { subject } = await world.must(Auth.method.validate, {}, signedIn?.json.access_token);
      assert.equal(subject, claimsOf(world.token).sub);
    });

    test("the session is in a cookie that scripts, other sites and other paths do not get", async () => {
      const { setCookie, json } = await signInByLink();
      assert.match(setCookie, /^holt-session=[\w-]{43}; Path=\/oauth\/session; Max-Age=2592000; HttpOnly; SameSite=Strict$/);
      assert.ok(!setCookie.includes(json.access_token ?? ""));
    });

    test("signing out ends the session on the server", async () => {
      const { cookie } = await signInByLink();
      const ended = await post("/oauth/session/end", {}, { ...FROM_CONSOLE, cookie });
      assert.match(ended.setCookie, /^holt-session=; Path=\/oauth\/session; Max-Age=0;/);
      const { status, json } = await renew(cookie);
      assert.deepEqual([status, json], [200, {}]);
    });

    test("requests from other sites, and without the header of the console, are refused", async () => {
      const { cookie } = await signInByLink();
      const foreign: Record<string, string>[] = [
        {},
        { "sec-fetch-site": "same-origin" },
        { "x-holt-console": "1" },
        { "x-holt-console": "1", "sec-fetch-site": "same-site" },
        { "x-holt-console": "1", "sec-fetch-site": "cross-site", origin: world.baseUrl },
        { "x-holt-console": "1", origin: "https://elsewhere.test" },
        { "x-holt-console": "1", origin: "null" },
      ];
      for (const headers of foreign) {
        for (const path of ["/oauth/session", "/oauth/session/end"]) {
          const { status, json } = await post(path, { grant_type: "refresh_token" }, { ...headers, cookie });
          assert.deepEqual([status, json.access_token], [403, undefined], JSON.stringify(headers));
        }
      }
      assert.ok((await renew(cookie)).json.access_token, "the session has not ended");
      assert.ok(
        (await post("/oauth/session", { grant_type: "refresh_token" }, { "x-holt-console": "1", origin: world.baseUrl, cookie })).json
          .access_token,
      );
    });

    test("the secret of a session is not a refresh token or an access token, and a refresh token is not a session", async () => {
      const { cookie } = await signInByLink();
      const secret = cookie.split("=")[1] ?? "";
      for (const token of [secret, Buffer.from(secret).toString("base64")]) {
        assert.ok(!(await world.rest.call(SecurityTokenService.method.exchangeRefreshToken, {}, token)).ok);
        assert.ok(!(await world.rest.call(GroupsService.method.listGroups, {}, token)).ok);
      }
      assert.ok((await renew(cookie)).json.access_token);
      assert.deepEqual((await renew(`holt-session=${Buffer.alloc(32).toString("base64url")}`)).json, {});
    });

    test("a person signs in with a code, which needs its verifier and works once", async () => {
      const verifier = randomBytes(32).toString("base64url");
      const code = await codeFor("carol", verifier);
      const redeem = (code_verifier: string) => post("/oauth/session", { grant_type: "authorization_code", code, code_verifier });
      assert.equal((await redeem("")).status, 400);
      assert.equal((await redeem(randomBytes(32).toString("base64url"))).status, 400);
      const { status, json, cookie } = await redeem(verifier);
      assert.equal(status, 200);
      const { groups } = await world.must(GroupsService.method.listGroups, {}, json.access_token);
      assert.deepEqual(
        groups.map(({ name }) => name),
        ["acme.test"],
      );
      assert.equal((await redeem(verifier)).status, 400);
      assert.equal(claimsOf((await renew(cookie)).json.access_token ?? "").sub, claimsOf(json.access_token ?? "").sub);
    });

    test("a code goes to the console of this server only", async () => {
      const complete = {
        response_type: "code",
        redirect_uri: "/console/sign-in",
        state: "s".repeat(43),
        code_challenge: "c".repeat(43),
        code_challenge_method: "S256",
        idp_id: "acme.test",
      };
      const changes: Partial<typeof complete>[] = [
        { redirect_uri: "https://elsewhere.test/" },
        { redirect_uri: "//elsewhere.test/console/sign-in" },
        { code_challenge: "" },
        { code_challenge_method: "plain" },
        { state: "<script>" },
      ];
      for (const change of changes) {
        const { status, headers } = await world.visitor().visit(world.oauth({ ...complete, ...change }));
        assert.deepEqual([status, headers.get("location")], [400, null], JSON.stringify(change));
      }
    });

    // The tests that move the clock come last: tokens of the provider do not move with it.
    test("a code expires after a minute", async () => {
      const verifier = randomBytes(32).toString("base64url");
      const code = await codeFor("carol", verifier);
      world.clock.advance(61_000);
      assert.equal((await post("/oauth/session", { grant_type: "authorization_code", code, code_verifier: verifier })).status, 400);
    });

    test("a link expires after ten minutes", async () => {
      const secret = await newSecret();
      world.clock.advance(LINK_LIFETIME_MS + 1);
      const { status, json } = await post("/oauth/session", { grant_type: "link", secret });
      assert.equal(status, 400);
      assert.match(json.error_description ?? "", /token -- --link/);
    });

    test("a session gives new tokens for thirty days, also to several tabs at once", async () => {
      const { cookie } = await signInByLink();
      world.clock.advance(29 * DAY_MS);
      const answers = await Promise.all(Array.from({ length: 5 }, () => renew(cookie)));
      for (const { json } of answers) assert.ok((await world.must(Auth.method.validate, {}, json.access_token)).subject);
      world.clock.advance(2 * DAY_MS);
      assert.equal((await renew(cookie)).json.access_token, undefined);
    });
  });
}
