import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GroupsService, OrgKind } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { userIdentityUid } from "../../src/iam/identities/user-identity.ts";
import { storeNames } from "../harness/harness.ts";
import { claimsOf, PROGRAM, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import type { Answer } from "../harness/sign-in/visitor.ts";

/** Asserts that the page says what to do, is not cached, and repeats nothing of the request. */
function assertPage(answer: Answer, status: number, text: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, text);
  assert.match(answer.text, /<html lang="en">/);
  assert.equal(answer.text.match(/<h1>/g)?.length, 1);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
  assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none';.*frame-ancestors 'none'$/);
}

for (const store of storeNames) {
  describe(`refusals of sign-in on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store })));
    after(() => world[Symbol.asyncDispose]());

    const start = (parameters: Readonly<Record<string, string>> = {}) =>
      world.oauth({ idp_id: "acme.test", redirect: PROGRAM, ...parameters });
    const isRegistered = async (account: string): Promise<boolean> => {
      const uid = userIdentityUid(world.upstream.issuer, account);
      return (await world.store.reader.selectFrom("identity").select("uid").where("uid", "=", uid).executeTakeFirst()) !== undefined;
    };

    test("a callback with a wrong or missing state is refused, and the right one still works", async () => {
      const visitor = world.visitor();
      const callback = new URL(await visitor.walkToCallback(start(), "mallory"));
      for (const state of [undefined, "", "x".repeat(43), `${callback.searchParams.get("state")}x`, "\0"]) {
        const wrong = new URL(callback);
        wrong.searchParams.delete("state");
        if (state !== undefined) wrong.searchParams.set("state", state);
        assertPage(await visitor.visit(wrong.href), 400, /Start again/);
      }
      assert.ok(!(await isRegistered("mallory")));
      assert.match((await visitor.walk(callback.href, "mallory")).url, /token=ey/);
    });

    test("a callback works once, even if it is sent twice at the same time", async () => {
      const visitor = world.visitor();
      await visitor.walk(start(), "twice");
      const callback = await visitor.walkToCallback(start(), "twice");
      const answers = await Promise.all(Array.from({ length: 6 }, () => visitor.visit(callback)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400, 400, 400, 400, 400]);
      assertPage(await visitor.visit(callback), 400, /Start again/);
    });

    test("a callback in another browser is refused, with no cookie, its own cookie or a made-up one", async () => {
      const attacker = world.visitor();
      const callback = await attacker.walkToCallback(start(), "attacker");
      const victim = world.visitor();
      assertPage(await victim.visit(callback), 400, /this same browser/);
      await victim.walkToCallback(start(), "victim");
      assertPage(await victim.visit(callback), 400, /this same browser/);
      const forged = await fetch(callback, { redirect: "manual", headers: { cookie: `holt-sign-in=${"A".repeat(43)}` } });
      assert.equal(forged.status, 400);
      assert.ok(!(await isRegistered("attacker")));
      attacker.forget();
      assertPage(await attacker.visit(callback), 400, /allow cookies/);
    });

    test("a callback after 15 minutes is refused", async () => {
      const visitor = world.visitor();
      const callback = await visitor.walkToCallback(start(), "slow");
      world.clock.advance(16 * 60_000);
      try {
        assertPage(await visitor.visit(callback), 400, /took too long/);
      } finally {
        world.clock.advance(-16 * 60_000);
      }
    });

    test("a wrong code, or a callback with a wrong or missing issuer, returns an error and no token to the program", async () => {
      const change: readonly ((url: URL, other: URL) => void)[] = [
        (url) => url.searchParams.set("code", "wrong"),
        (url, other) => url.searchParams.set("code", other.searchParams.get("code") ?? ""),
        (url) => url.searchParams.set("iss", "https://elsewhere.test"),
        (url) => url.searchParams.delete("iss"),
        (url) => url.searchParams.delete("code"),
        (url) => url.searchParams.append("code", "two"),
        (url) => url.searchParams.append("state", "two"),
      ];
      for (const [index, apply] of change.entries()) {
        const visitor = world.visitor();
        const other = new URL(await visitor.walkToCallback(start(), "other"));
        const url = new URL(await visitor.walkToCallback(start(), "mixed"));
        apply(url, other);
        const { searchParams } = new URL((await visitor.walk(url.href, "mixed")).url);
        assert.equal(searchParams.get("token"), null, String(index));
        assert.match(searchParams.get("error") ?? "", /identity provider|Start again/, String(index));
      }
      assert.ok(!(await isRegistered("mixed")));
    });

    test("a program that is not on the person's own machine gets nothing, however its address is written", async () => {
      const addresses = [
        "https://evil.test/callback",
        "http://evil.test/callback",
        "http://127.0.0.1.evil.test/",
        "http://localhost.evil.test/",
        "http://localhost@evil.test/",
        "http://127.0.0.1@evil.test/",
        "http://evil.test#@127.0.0.1/",
        "http://evil.test\\@127.0.0.1/",
        "https://127.0.0.1/callback",
        "http://user:password@127.0.0.1/",
        "http://127.0.0.1/#fragment",
        "http://127.0.0.2/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "//127.0.0.1/",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://localhost/",
        "",
        "x",
        `http://127.0.0.1/${"x".repeat(2000)}`,
      ];
      for (const redirect of addresses) {
        const answer = await world.visitor().visit(start({ redirect }));
        assertPage(answer, 400, /not on your own machine/);
        assert.equal(answer.headers.get("location"), null, redirect);
      }
      assertPage(await world.visitor().visit(world.oauth({ idp_id: "acme.test", exit: "redirect" })), 400, /from it again/);
    });

    test("the three loopback names are accepted for the person's own machine", async () => {
      for (const redirect of ["http://127.0.0.1:1234/cb", "http://localhost/cb?x=1&token=true", "http://[::1]:8080/"]) {
        const { url } = await world.visitor().walk(start({ redirect }), "loopback");
        const [wanted, got] = [new URL(redirect), new URL(url)];
        assert.equal(got.origin + got.pathname, wanted.origin + wanted.pathname);
        assert.equal(got.searchParams.get("x"), wanted.searchParams.get("x"));
        assert.ok(claimsOf(got.searchParams.get("token") ?? "").sub);
      }
    });

    test("an unknown organization and one without a provider give the same page, which asks again", async () => {
      await world.must(GroupsService.method.createGroup, { group: { name: "bare.test", verified: true, kind: OrgKind.CUSTOMER } });
      const pages = [];
      for (const idp_id of ["bare.test", "nobody.test", `${world.acme.uid}/0000000000000000`, "\0", "<script>"]) {
        const answer = await world.visitor().visit(start({ idp_id }));
        assertPage(answer, 404, /no sign-in under this name/);
        assert.match(answer.text, /<label for="idp_id">/);
        pages.push(answer.text);
      }
      assert.equal(new Set(pages).size, 1);
    });

    test("the provider's error message is shown as text", async () => {
      const { searchParams } = new URL((await world.visitor().walk(start(), undefined)).url);
      assert.deepEqual([searchParams.get("token"), searchParams.get("status_code")], [null, "403"]);
      assert.match(searchParams.get("error") ?? "", /You <b>cancelled<\/b> at the upstream/);
      const answer = await world.visitor().walk(world.oauth({ idp_id: "acme.test" }), undefined);
      assertPage(answer, 403, /You &lt;b&gt;cancelled&lt;\/b&gt; at the upstream/);
    });

    test("a provider that is down is reported before and after the redirect", async () => {
      const visitor = world.visitor();
      const callback = await visitor.walkToCallback(start(), "patient");
      world.upstream.setDown(true);
      try {
        const there = await startSignInWorld({ store: "sqlite" });
        there.upstream.setDown(true);
        const { searchParams } = new URL(
          (await there.visitor().visit(there.oauth({ idp_id: "acme.test", redirect: PROGRAM }))).headers.get("location") ?? "",
        );
        assert.equal(searchParams.get("status_code"), "502");
        assert.match(searchParams.get("error") ?? "", /Try again in a minute/);
        assertPage(await there.visitor().visit(there.oauth({ idp_id: "acme.test" })), 502, /does not answer/);
        await there[Symbol.asyncDispose]();
        const back = new URL((await visitor.visit(callback)).headers.get("location") ?? "");
        assert.equal(back.searchParams.get("status_code"), "502");
      } finally {
        world.upstream.setDown(false);
      }
    });

    test("a person deactivated by the directory cannot sign in and sees why", async () => {
      await world.visitor().walk(start({ create_refresh_token: "true" }), "leaver");
      const time = new Date().toISOString();
      const row = {
        idp_uid: world.acme.provider,
        external_id: "leaver",
        user_name: "leaver",
        active: 0,
        delete_time: null,
        version: 1,
        body: "{}",
      };
      await world.store.transaction((db) =>
        db
          .insertInto("scim_user")
          .values({ id: "u1", ...row, create_time: time, update_time: time })
          .execute(),
      );
      const { searchParams } = new URL((await world.visitor().walk(start(), "leaver")).url);
      assert.deepEqual([searchParams.get("token"), searchParams.get("status_code")], [null, "403"]);
      assert.match(searchParams.get("error") ?? "", /deactivated this account; ask/);
    });

    test("unknown pages give an error page, and other methods are refused", async () => {
      const visitor = world.visitor();
      assertPage(await visitor.visit(`${world.baseUrl}/oauth/nothing`), 404, /no such page/);
      for (const path of ["/oauth", "/oauth/callback", "/oauth/device", "/orgcheck"]) {
        const answer = await visitor.visit(`${world.baseUrl}${path}`, { method: "POST", form: {} });
        assertPage(answer, 405, /Start from the program/);
        assert.equal(answer.headers.get("allow"), "GET");
      }
      assertPage(await visitor.visit(`${world.baseUrl}/oauth/answer`), 405, /Start from/);
      assertPage(
        await visitor.visit(`${world.baseUrl}/oauth/answer`, { method: "POST", form: { handle: "x", answer: "yes" } }),
        400,
        /Start again/,
      );
      const json = await fetch(`${world.baseUrl}/oauth/answer`, {
        method: "POST",
        body: "{}",
        headers: { "content-type": "application/json" },
      });
      assert.equal(json.status, 415);
    });

    test("the check of an organization's name returns true or false", async () => {
      const check = async (name: string) =>
        (await world.visitor().visit(`${world.baseUrl}/orgcheck?name=${encodeURIComponent(name)}`)).text;
      assert.deepEqual(
        [await check("acme.test"), await check("bare.test"), await check(""), await check("\0")],
        ["true", "false", "false", "false"],
      );
    });
  });
}

describe("the page for choosing a provider", () => {
  test("the page offers the organization's and the operator's sign-in and keeps the request's parameters", async () => {
    await using world = await startSignInWorld();
    const visitor = world.visitor();
    const page = await visitor.visit(world.oauth({ redirect: PROGRAM, skip_registration: 'true"><b>' }));
    assertPage(page, 200, /Your organization/);
    assert.match(page.text, new RegExp(`Sign in with ${new URL(world.upstream.issuer).host}`));
    assert.doesNotMatch(page.text, /"><b>/);
    const answer = await visitor.submit(page, { idp_id: "acme.test" });
    assertPage(answer, 200, /continue here/);
    const { url } = await visitor.walk(world.oauth({ redirect: PROGRAM, idp_id: "acme.test", from: "page" }), "alice");
    assert.match(url, /^http:\/\/127\.0\.0\.1:9\/callback\?token=ey/);
  });

  test("without organization providers the browser goes to the operator's provider, or the page says how to configure one", async () => {
    await using none = await startSignInWorld({ hasOperator: false });
    const named = await none.visitor().visit(none.oauth({ client_id: "auth0", connection: "github" }));
    assertPage(named, 404, /no identity provider of its own/);
    await none.store.transaction((db) => db.deleteFrom("identity_provider").execute());
    assertPage(await none.visitor().visit(none.oauth({})), 503, /holtd account-link[\s\S]*invite others[\s\S]*HOLT_LOGIN_ISSUER/);
    await using world = await startSignInWorld();
    await world.store.transaction((db) => db.deleteFrom("identity_provider").execute());
    const answer = await world.visitor().visit(world.oauth({ redirect: PROGRAM }));
    assert.equal(answer.status, 303);
    assert.equal(new URL(answer.headers.get("location") ?? "").origin, world.upstream.issuer);
  });
});
