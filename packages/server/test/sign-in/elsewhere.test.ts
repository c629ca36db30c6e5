import assert from "node:assert/strict";
import { createDecipheriv, createPublicKey, diffieHellman, generateKeyPairSync } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { userIdentityUid } from "../../src/iam/identities/user-identity.ts";
import { Code } from "../../src/lib/errors.ts";
import { storeNames } from "../harness/harness.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import type { Answer } from "../harness/sign-in/visitor.ts";

/** A program on a machine without a browser. */
function createProgram() {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const code = publicKey.export({ format: "jwk" }).x ?? "";
  return {
    code,
    decrypt({ ecdhPublicKey, encryptedIdtoken }: { ecdhPublicKey: Uint8Array; encryptedIdtoken: Uint8Array }): string {
      const x = Buffer.from(ecdhPublicKey).toString();
      const secret = diffieHellman({ privateKey, publicKey: createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" }) });
      const bytes = Buffer.from(encryptedIdtoken);
      const decipher = createDecipheriv("aes-256-gcm", secret, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString();
    },
  };
}

for (const store of storeNames) {
  describe(`sign-in on another machine on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store })));
    after(() => world[Symbol.asyncDispose]());

    const uidOf = (account: string): string => userIdentityUid(world.upstream.issuer, account);
    const sessionOf = (code: string) => world.rest.call(Auth.method.getHeadlessSession, { code }, undefined);
    const exchange = (token: string, more: object = {}) => world.rest.call(SecurityTokenService.method.exchange, more, token);
    async function approve(code: string, account = "alice"): Promise<Answer> {
      const visitor = world.visitor();
      const page = await visitor.walk(world.oauth({ headless_code: code, idp_id: "acme.test" }), account);
      return visitor.submit(page, { answer: "yes" });
    }

    describe("a program on another machine", () => {
      test("a program on another machine gets one session, encrypted for its key, after a person confirms", async () => {
        const program = createProgram();
        const visitor = world.visitor();
        const page = await visitor.walk(world.oauth({ headless_code: program.code, idp_id: "acme.test" }), "alice");
        assert.match(page.text, /Sign in elsewhere\?/);
        assert.ok(page.text.includes(program.code));
        const early = await sessionOf(program.code);
        assert.equal(!early.ok && early.error.code, Code.NOT_FOUND);
        assert.match((await visitor.submit(page, { answer: "yes" })).text, /You can close this page/);
        assert.match((await visitor.submit(page, { answer: "yes" })).text, /Start again/);
        const [first, second] = await Promise.all([sessionOf(program.code), sessionOf(program.code)]);
        assert.deepEqual([first.ok, second.ok].sort(), [false, true]);
        const session = first.ok ? first : second;
        assert.ok(session.ok);
        const token = program.decrypt(session.value);
        const tokens = await exchange(token);
        assert.ok(tokens.ok);
        assert.equal(claimsOf(tokens.value.token).sub, uidOf("alice"));
        assert.ok(tokens.value.refreshToken);
        const { groups } = await world.must(GroupsService.method.listGroups, {}, tokens.value.token);
        assert.deepEqual(
          groups.map(({ name }) => name),
          ["acme.test"],
        );
      });

      test("a login token from before the account was deleted stays void when the person registers again", async () => {
        const signInElsewhere = async () => {
          const program = createProgram();
          const visitor = world.visitor();
          const page = await visitor.walk(world.oauth({ headless_code: program.code, client_id: "auth0" }), "returning");
          await visitor.submit(page, { answer: "yes" });
          const session = await sessionOf(program.code);
          assert.ok(session.ok);
          return program.decrypt(session.value);
        };
        const old = await signInElsewhere();
        const { token } = await world.must(SecurityTokenService.method.exchange, {}, old);
        await world.must(Auth.method.delete, { id: uidOf("returning") }, token);
        world.clock.advance(1);
        const renewed = await exchange(await signInElsewhere());
        assert.ok(renewed.ok);
        for (const stale of [old, token]) {
          const outcome = await exchange(stale);
          assert.equal(!outcome.ok && outcome.error.code, Code.UNAUTHENTICATED);
        }
      });

      test("a login token can only be exchanged, and only for ten minutes", async () => {
        const program = createProgram();
        await approve(program.code);
        const session = await sessionOf(program.code);
        assert.ok(session.ok);
        const token = program.decrypt(session.value);
        const other = createProgram();
        await approve(other.code);
        const unused = await sessionOf(other.code);
        assert.ok(unused.ok);
        for (const path of ["/iam/v2/groups", "/auth/v1/ok", "/v2/"])
          assert.equal((await world.http("GET", path, undefined, { authorization: `Bearer ${token}` })).status, 401, path);
        const register = await world.rest.call(Auth.method.register, {}, token);
        assert.equal(register.ok, false);
        const narrowed = await exchange(token, { cap: ["groups.list"], identityProvider: world.acme.provider });
        assert.ok(narrowed.ok);
        world.clock.advance(10 * 60_000);
        const late = await exchange(other.decrypt(unused.value));
        world.clock.advance(-10 * 60_000);
        assert.deepEqual(!late.ok && [late.error.code, /expired/.test(late.error.message)], [Code.UNAUTHENTICATED, true]);
      });

      test("a login token can be exchanged once, and a refused exchange does not spend it", async () => {
        const program = createProgram();
        await approve(program.code);
        const session = await sessionOf(program.code);
        assert.ok(session.ok);
        const token = program.decrypt(session.value);
        assert.equal((await exchange(token, { cap: ["nonsense"] })).ok, false);
        const answers = await Promise.all(Array.from({ length: 4 }, () => exchange(token)));
        assert.equal(answers.filter(({ ok }) => ok).length, 1);
        for (const answer of answers)
          if (!answer.ok) assert.deepEqual([answer.error.code, /already used/.test(answer.error.message)], [Code.UNAUTHENTICATED, true]);
        assert.equal((await exchange(token)).ok, false);
        world.clock.advance(20 * 60_000);
        const other = createProgram();
        await approve(other.code);
        const next = await sessionOf(other.code);
        assert.ok(next.ok && (await exchange(other.decrypt(next.value))).ok);
        world.clock.advance(-20 * 60_000);
        const kept = await world.store.reader.selectFrom("spent_login_token").select("token_hash").execute();
        assert.equal(kept.length, 1, "records of expired tokens are deleted");
      });

      test("a session that is not fetched within five minutes is deleted", async () => {
        const program = createProgram();
        await approve(program.code);
        world.clock.advance(5 * 60_000);
        assert.equal((await sessionOf(program.code)).ok, false);
        world.clock.advance(-5 * 60_000);
      });

      test("a program gets nothing if the person declines", async () => {
        const program = createProgram();
        const visitor = world.visitor();
        const page = await visitor.walk(world.oauth({ headless_code: program.code, idp_id: "acme.test" }), "alice");
        assert.match((await visitor.submit(page, { answer: "no" })).text, /Nobody was signed in/);
        assert.match((await visitor.submit(page, { answer: "yes" })).text, /Start again/);
        assert.equal((await sessionOf(program.code)).ok, false);
      });

      test("a code that is not a key, or a weak key, is rejected", async () => {
        for (const code of ["", "x", "A".repeat(42), `${"A".repeat(42)}B`, `${"A".repeat(43)}=`, "<script>"]) {
          const answer = await world.visitor().visit(world.oauth({ headless_code: code, idp_id: "acme.test" }));
          assert.equal(answer.status, 400, code);
          assert.match(answer.text, /Copy the whole address/);
        }
        assert.match((await approve("A".repeat(43))).text, /Start the sign-in there again/);
        assert.equal((await sessionOf("\0")).ok, false);
      });

      test("the confirmation cannot be sent from another browser", async () => {
        const program = createProgram();
        const page = await world.visitor().walk(world.oauth({ headless_code: program.code, idp_id: "acme.test" }), "mallory");
        assert.match((await world.visitor().submit(page, { answer: "yes" })).text, /this same browser/);
        assert.equal((await sessionOf(program.code)).ok, false);
      });
    });

    describe("a device", () => {
      interface Begun {
        readonly device_code: string;
        readonly user_code: string;
        readonly verification_uri: string;
        readonly verification_uri_complete: string;
        readonly expires_in: number;
        readonly interval: number;
      }
      const post = async (path: string, form: Readonly<Record<string, string>>) => {
        const answer = await fetch(world.baseUrl + path, { method: "POST", body: new URLSearchParams(form) });
        assert.equal(answer.headers.get("cache-control"), "no-store");
        return { status: answer.status, json: (await answer.json()) as Record<string, string> };
      };
      const begin = async (client_id = "holt-cli") =>
        (await post("/oauth/device_authorization", { client_id, scope: "openid" })).json as unknown as Begun;
      const poll = (device_code: string, more: Readonly<Record<string, string>> = {}) =>
        post("/oauth/token", { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code, client_id: "holt-cli", ...more });
      async function open(url: string, account = "alice", answer = "yes") {
        const visitor = world.visitor();
        const page = await visitor.walk(`${url}&idp_id=acme.test`, account);
        return { page, done: await visitor.submit(page, { answer }) };
      }

      test("the device endpoint is in the discovery document", async () => {
        const { json } = {
          json: (await (await fetch(`${world.baseUrl}/.well-known/openid-configuration`)).json()) as Record<string, string>,
        };
        assert.equal(json.device_authorization_endpoint, `${world.baseUrl}/oauth/device_authorization`);
        assert.equal(json.token_endpoint, `${world.baseUrl}/oauth/token`);
      });

      test("a device gets tokens once, after the person confirms", async () => {
        const begun = await begin();
        assert.match(begun.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
        assert.deepEqual([begun.expires_in, begun.interval, begun.verification_uri], [600, 5, `${world.baseUrl}/oauth/device`]);
        assert.equal((await poll(begun.device_code)).json.error, "authorization_pending");
        const { page, done } = await open(begun.verification_uri_complete);
        assert.ok(page.text.includes(begun.user_code) && page.text.includes("holt-cli"));
        assert.match(page.text, /only if you started this yourself/);
        assert.match(done.text, /You can close this page/);
        const [first, second] = await Promise.all([poll(begun.device_code), poll(begun.device_code)]);
        const [good, bad] = first.status === 200 ? [first, second] : [second, first];
        assert.deepEqual([good.status, bad.status, bad.json.error], [200, 400, "expired_token"]);
        const { access_token = "", id_token = "", token_type, expires_in } = good.json;
        assert.equal(token_type, "Bearer");
        assert.ok(Number(expires_in) > 3590 && Number(expires_in) <= 3600, expires_in);
        assert.equal(claimsOf(access_token).sub, uidOf("alice"));
        assert.deepEqual([claimsOf(id_token).sub, claimsOf(id_token).azp], [uidOf("alice"), "holt-cli"]);
        assert.equal(claimsOf(id_token).aud, `${world.baseUrl}/sts/exchange`, "the program does not choose the audience");
        const tokens = await exchange(id_token);
        assert.ok(tokens.ok && tokens.value.refreshToken);
        assert.equal((await world.http("GET", "/auth/v1/ok", undefined, { authorization: `Bearer ${id_token}` })).status, 401);
      });

      test("a device is notified if the person declines", async () => {
        const begun = await begin();
        assert.match((await open(begun.verification_uri_complete, "alice", "no")).done.text, /Nobody was signed in/);
        assert.equal((await poll(begun.device_code)).json.error, "access_denied");
      });

      test("a device that polls too often must slow down and wait longer from then on", async () => {
        const { device_code } = await begin();
        const errors = [];
        for (const seconds of [0, 1, 6, 11]) {
          world.clock.advance(seconds * 1000);
          errors.push((await poll(device_code)).json.error);
        }
        assert.deepEqual(errors, ["authorization_pending", "slow_down", "slow_down", "slow_down"]);
        world.clock.advance(20_000);
        assert.equal((await poll(device_code)).json.error, "authorization_pending");
      });

      test("a user code is found however it is typed, and an unknown code is asked for again", async () => {
        const { user_code } = await begin();
        const visitor = world.visitor();
        const page = await visitor.visit(`${world.baseUrl}/oauth/device`);
        assert.match(page.text, /<label for="user_code">/);
        for (const typed of [user_code, user_code.toLowerCase(), user_code.replace("-", " "), user_code.replace("-", "")])
          assert.match((await visitor.submit(page, { user_code: typed })).text, /Your organization/, typed);
        for (const typed of ["BCDF-GHJK", "", "x".repeat(500), '"><script>'])
          assert.match((await visitor.submit(page, { user_code: typed })).text, /Nothing waits with this code/, typed);
      });

      test("a user code works for one person and for ten minutes", async () => {
        const begun = await begin();
        const [one, two] = [world.visitor(), world.visitor()];
        const url = `${begun.verification_uri_complete}&idp_id=acme.test`;
        const [first, second] = [await one.walk(url, "alice"), await two.walk(url, "bob")];
        const texts = (await Promise.all([one.submit(first, { answer: "yes" }), two.submit(second, { answer: "yes" })])).map(
          ({ text }) => text,
        );
        assert.equal(texts.filter((text) => text.includes("You can close this page")).length, 1);
        assert.equal(texts.filter((text) => text.includes("no longer waits")).length, 1);
        const late = await begin();
        world.clock.advance(600_000);
        assert.match((await world.visitor().visit(late.verification_uri_complete)).text, /Nothing waits/);
        assert.equal((await poll(late.device_code)).json.error, "expired_token");
        world.clock.advance(-600_000);
      });

      test("malformed device requests get the errors of OAuth", async () => {
        const host = new URL(world.baseUrl).hostname;
        for (const client_id of ["", "a b", "x".repeat(65), host])
          assert.equal((await post("/oauth/device_authorization", { client_id })).json.error, "invalid_client", client_id);
        const { device_code } = await begin();
        assert.equal((await poll(device_code, { client_id: "another" })).json.error, "expired_token");
        assert.equal((await poll("x")).json.error, "expired_token");
        assert.equal((await post("/oauth/token", { grant_type: "authorization_code", code: "x" })).json.error, "unsupported_grant_type");
        const complete = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code, client_id: "program" };
        for (const missing of Object.keys(complete))
          assert.deepEqual((await post("/oauth/token", { ...complete, [missing]: "" })).json, {
            error: "invalid_request",
            error_description: `${missing} is required`,
          });
        const answer = await fetch(`${world.baseUrl}/oauth/token`, {
          method: "POST",
          body: "{}",
          headers: { "content-type": "application/json" },
        });
        assert.deepEqual([answer.status, ((await answer.json()) as { error: string }).error], [415, "invalid_request"]);
      });

      test("a parameter that a program sends twice is refused", async () => {
        const send = async (path: string, body: string) => {
          const headers = { "content-type": "application/x-www-form-urlencoded" };
          const answer = await fetch(`${world.baseUrl}${path}`, { method: "POST", body, headers });
          return [answer.status, ((await answer.json()) as { error: string }).error];
        };
        assert.deepEqual(await send("/oauth/device_authorization", "client_id=one&client_id=two"), [400, "invalid_request"]);
        const { device_code } = await begin();
        const grant = "grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=program";
        const twice = `${grant}&device_code=${device_code}&device_code=x`;
        assert.deepEqual(await send("/oauth/token", twice), [400, "invalid_request"]);
      });

      test("a form that is larger than the limit is not answered as if it could be sent again", async () => {
        const large = await post("/oauth/token", { device_code: "x".repeat(100_000) });
        assert.deepEqual([large.status, large.json.error], [413, "invalid_request"]);
        const page = await world
          .visitor()
          .visit(`${world.baseUrl}/oauth/answer`, { method: "POST", form: { handle: "x".repeat(100_000) } });
        assert.deepEqual([page.status, /larger than 65536 bytes/.test(page.text)], [413, true]);
        const token = await fetch(`${world.baseUrl}/token`, { method: "POST", body: new URLSearchParams({ scope: "x".repeat(100_000) }) });
        assert.equal(token.status, 413);
      });
    });
  });
}
