import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ExternalGroupRoleMappingsService } from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { userIdentityUid } from "../../src/iam/identities/user-identity.ts";
import { storeNames } from "../harness/harness.ts";
import { claimsOf, PROGRAM, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const BUILT_IN_VIEWER = "63921b2c44617e3f2603851537be0123af4a57d7";
const parametersOf = (url: string): Record<string, string> => Object.fromEntries(new URL(url).searchParams);

for (const store of storeNames) {
  describe(`sign-in for a program on the same machine on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store })));
    after(() => world[Symbol.asyncDispose]());

    /**
     * Signs in, with the organization's provider by default.
     * @returns the query that the program receives
     */
    async function signIn(account: string, parameters: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> {
      const way = { idp_id: "acme.test", exit: "redirect", redirect: PROGRAM, ...parameters };
      return parametersOf((await world.visitor().walk(world.oauth(way), account)).url);
    }
    const uidOf = (account: string): string => userIdentityUid(world.upstream.issuer, account);
    const groupNames = async (token = ""): Promise<string[]> =>
      (await world.must(GroupsService.method.listGroups, {}, token)).groups.map(({ name }) => name);
    const eventsOf = async (account: string): Promise<number> => {
      const rows = await world.store.reader
        .selectFrom("outbox")
        .select("data")
        .where("type", "like", "%.auth.registered.v1")
        .orderBy("seq")
        .execute();
      return rows.filter(({ data }) => data.includes(uidOf(account))).length;
    };

    test("an organization's provider signs people in and registers them with the default role", async () => {
      world.upstream.setClaims("alice", { email: "Alice@acme.test", name: "Alice" });
      const { token = "", ...others } = await signIn("alice");
      assert.deepEqual(others, {});
      const claims = claimsOf(token);
      assert.deepEqual([claims.sub, claims.aud], [uidOf("alice"), world.baseUrl]);
      assert.deepEqual(claims.act, { iss: world.upstream.issuer, sub: "alice", aud: "holt", email: "Alice@acme.test" });
      assert.equal(Number(claims.exp) - Number(claims.iat), 3600);
      assert.deepEqual(await groupNames(token), ["acme.test"]);
      assert.equal(await eventsOf("alice"), 1);
      const { email, emailUnverified } = await world.must(IdentitiesService.method.getIdentity, { uid: uidOf("alice") }, token);
      assert.deepEqual([email, emailUnverified], ["", "Alice@acme.test"]);
    });

    describe("the question about a program on the same machine", () => {
      const redirectTo = (redirect: string, more: Readonly<Record<string, string>> = {}) =>
        world.oauth({ idp_id: "acme.test", redirect, ...more });

      test("the page asks once per person, client and port, before anything is recorded", async () => {
        const visitor = world.visitor();
        const page = await visitor.walkToQuestion(redirectTo("http://localhost:4242/a"), "asked");
        assert.equal(page.status, 200, page.url);
        for (const text of ["Sign in a program?", "A program on this machine, at localhost:4242", "only if you started"])
          assert.ok(page.text.includes(text), text);
        assert.equal(await eventsOf("asked"), 0);
        const left = await visitor.submit(page, { answer: "yes" });
        assert.match(left.text, /http:\/\/localhost:4242\/a\?token=ey/);
        const again = await visitor.walkToQuestion(redirectTo("http://localhost:4242/another?token=true"), "asked");
        assert.match(again.url, /^http:\/\/localhost:4242\/another\?token=ey/);
        for (const [url, account] of [
          [redirectTo("http://localhost:4243/a"), "asked"],
          [redirectTo("http://127.0.0.1:4242/a"), "asked"],
          [redirectTo("http://localhost:4242/a", { client_id: "another" }), "asked"],
        ] as const) {
          assert.match((await visitor.walkToQuestion(url, account)).text, /<h1>Sign in a program\?/, url);
        }
        assert.match(
          (await world.visitor().walkToQuestion(redirectTo("http://localhost:4242/a"), "asked")).text,
          /<h1>Sign in a program\?/,
        );
        assert.match((await visitor.walkToQuestion(redirectTo("http://localhost:4242/a"), "asked")).url, /token=ey/);
      });

      test("a program that the person declines gets an error, and the next sign-in asks again", async () => {
        const visitor = world.visitor();
        for (let round = 0; round < 2; round++) {
          const page = await visitor.walkToQuestion(redirectTo(PROGRAM), "wary");
          const declined = await visitor.submit(page, { answer: "no" });
          assert.match(declined.text, /status_code=403/);
          assert.match(declined.text, /You\+chose\+not\+to\+sign\+this\+program\+in/);
        }
        assert.equal(await eventsOf("wary"), 0);
      });

      test("the cookie of confirmed programs cannot be made up, and holds a limited number", async () => {
        const visitor = world.visitor();
        for (const port of [...Array(34).keys()]) await visitor.walk(redirectTo(`http://localhost:${5000 + port}/`), "many");
        const cookie = visitor.cookieOf(world.baseUrl);
        assert.match(cookie, /holt-programs=v1\.[\w-]{100,3000}(?:;|$)/);
        assert.doesNotMatch(cookie, /5033/);
        assert.match((await visitor.walkToQuestion(redirectTo("http://localhost:5033/"), "many")).url, /token=ey/);
        assert.match((await visitor.walkToQuestion(redirectTo("http://localhost:5000/"), "many")).text, /Sign in a program\?/);
        const callback = await visitor.walkToCallback(redirectTo("http://localhost:5033/"), "many");
        const forged = cookie.replace(/holt-programs=v1\.[\w-]{8}/, "holt-programs=v1.AAAAAAAA");
        const textOf = async (url: string, cookies: string) =>
          (await fetch(url, { redirect: "manual", headers: { cookie: cookies } })).text();
        assert.match(await textOf(callback, forged), /Sign in a program\?/);
        const other = world.visitor();
        const theirs = await other.walkToCallback(redirectTo("http://localhost:5033/"), "another person");
        const shared = /holt-programs=[^;]*/.exec(cookie)?.[0] ?? "";
        assert.match(await textOf(theirs, `${other.cookieOf(world.baseUrl)}; ${shared}`), /Sign in a program\?/);
      });
    });

    test("the default role is given at the first login only, and one registration event is emitted", async () => {
      await signIn("bob");
      const { roleBindings } = await world.must(RoleBindingsService.method.listRoleBindings, { identity: uidOf("bob") });
      assert.deepEqual(
        roleBindings.map(({ roleUid }) => roleUid),
        [world.acme.defaultRole],
      );
      await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: roleBindings[0]!.uid });
      const { token } = await signIn("bob");
      assert.deepEqual(await groupNames(token), []);
      assert.equal(await eventsOf("bob"), 1);
    });

    test("a person who was bound before the first login keeps the binding and also gets the default role", async () => {
      const role = await world.role(world.acme.uid, [Capability.CAP_IAM_ROLES_LIST]);
      const roleBinding = { identityUid: uidOf("early"), roleUid: role };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.acme.uid, roleBinding });
      await signIn("early");
      const { roleBindings } = await world.must(RoleBindingsService.method.listRoleBindings, { identity: uidOf("early") });
      assert.deepEqual(roleBindings.map(({ roleUid }) => roleUid).sort(), [role, world.acme.defaultRole].sort());
    });

    test("the operator's provider is used if its client or a connection is requested, and gives no default role", async () => {
      world.upstream.setClaims("carol", { email: "carol@example.test", email_verified: true, name: "Carol" });
      const { token = "" } = await signIn("carol", { idp_id: "", client_id: "auth0", connection: "github", screen_hint: "signup" });
      const { email, email_verified, upstream } = claimsOf(token);
      assert.deepEqual([email, email_verified], ["carol@example.test", true]);
      assert.deepEqual(upstream, { email: "carol@example.test", name: "Carol" });
      assert.deepEqual(await groupNames(token), []);
      const sent = world.upstream.authorizations.at(-1)!;
      assert.deepEqual([sent.get("connection"), sent.get("screen_hint"), sent.get("scope")], ["github", "signup", "openid email profile"]);
    });

    test("every request to the provider has a fresh state, nonce and challenge", async () => {
      const from = world.upstream.authorizations.length;
      for (const way of [{}, {}, { idp_id: "", client_id: "auth0" }]) await signIn("alice", way);
      const sent = world.upstream.authorizations.slice(from);
      for (const name of ["state", "nonce", "code_challenge"]) {
        const values = sent.map((parameters) => parameters.get(name) ?? "");
        assert.ok(
          values.every((value) => value.length === 43),
          name,
        );
        assert.equal(new Set(values).size, 3);
      }
      assert.ok(
        sent.every((parameters) => parameters.get("code_challenge_method") === "S256" && parameters.get("response_type") === "code"),
      );
    });

    test("a provider is found by its uid or its organization's name, ignoring case", async () => {
      for (const idp_id of [world.acme.provider, "ACME.test", " acme.test "]) assert.ok((await signIn("alice", { idp_id })).token, idp_id);
    });

    test("a refresh token is issued on request and works once, and its reuse revokes the family", async () => {
      const { token = "", refresh_token: first = "" } = await signIn("alice", { create_refresh_token: "true" });
      assert.ok(token);
      const { exp } = JSON.parse(Buffer.from(first, "base64").toString()) as { exp: number };
      assert.ok(exp > 0);
      const refresh = (bearer: string) => world.rest.call(SecurityTokenService.method.exchangeRefreshToken, {}, bearer);
      const second = await refresh(first);
      assert.ok(second.ok);
      assert.deepEqual(await groupNames(second.value.token?.token), ["acme.test"]);
      assert.equal((await refresh(first)).ok, false);
      assert.equal((await refresh(second.value.refreshToken?.token ?? "")).ok, false);
    });

    test("audiences may be separated by commas, and scopes may be escaped twice", async () => {
      const scope = encodeURIComponent(world.acme.uid);
      const { token = "" } = await signIn("alice", { audience: `${world.baseUrl},127.0.0.1`, scope: encodeURIComponent(scope) });
      const { aud, narrow } = claimsOf(token);
      assert.deepEqual([aud, narrow], [[world.baseUrl, "127.0.0.1"], { scopes: [world.acme.uid], within: world.acme.uid }]);
      const refused = await signIn("alice", { audience: "https://elsewhere.test" });
      assert.deepEqual([refused.token, refused.status_code], [undefined, "400"]);
      assert.match(refused.error ?? "", /not an audience/);
    });

    test("an identity that accepts the person is assumed without a refresh token, and any other is refused", async () => {
      const claimMatch = { iss: { case: "issuer", value: world.baseUrl }, sub: { case: "subject", value: uidOf("alice") } } as const;
      const relationship = { case: "claimMatch", value: claimMatch } as const;
      const identity = { name: "robot", relationship };
      const { uid } = await world.must(IdentitiesService.method.createIdentity, { parent: world.acme.uid, identity });
      const assumed = await signIn("alice", { identity: uid, create_refresh_token: "true" });
      assert.equal(claimsOf(assumed.token ?? "").sub, uid);
      assert.equal(assumed.refresh_token, undefined);
      for (const named of [uid, `${world.acme.uid}/0000000000000000`]) {
        const refused = await signIn("bob", { identity: named });
        assert.deepEqual([refused.token, refused.status_code], [undefined, "403"]);
      }
    });

    test("skip_registration refuses unregistered people and signs in registered ones", async () => {
      const refused = await signIn("dora", { skip_registration: "true" });
      assert.deepEqual([refused.token, refused.status_code], [undefined, "404"]);
      assert.match(refused.error ?? "", /register first/i);
      assert.ok((await signIn("dora")).token);
      assert.ok((await signIn("dora", { skip_registration: "true" })).token);
    });

    describe("mapped groups", () => {
      const ROLE = [Capability.CAP_IAM_ROLE_BINDINGS_LIST];
      let mapping = "";
      before(async () => {
        const externalGroupRoleMapping = {
          externalGroupId: "admins",
          roleUid: await world.role(world.acme.uid, ROLE),
          scope: world.acme.uid,
        };
        const made = await world.must(ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping, {
          parent: world.acme.provider,
          externalGroupRoleMapping,
        });
        mapping = made.uid;
        world.upstream.setClaims("erin", { groups: ["staff", "admins"] });
        world.upstream.setClaims("finn", { groups: "admins" });
        world.upstream.setClaims("gwen", { groups: ["staff"] });
      });

      const bindings = (token = "") => world.rest.call(RoleBindingsService.method.listRoleBindings, {}, token);
      const seen = async (token = ""): Promise<number> => {
        const answer = await bindings(token);
        return answer.ok ? answer.value.roleBindings.length : -1;
      };

      test("mapped groups give rights for the session, without a refresh token or a binding", async () => {
        for (const account of ["erin", "finn"]) {
          const { token, refresh_token } = await signIn(account, { create_refresh_token: "true" });
          assert.ok((await seen(token)) > 0, account);
          assert.equal(refresh_token, undefined);
          const { roleBindings } = await world.must(RoleBindingsService.method.listRoleBindings, { identity: uidOf(account) });
          assert.deepEqual(
            roleBindings.map(({ roleUid }) => roleUid),
            [world.acme.defaultRole],
          );
          const { capabilities } = await world.must(Auth.method.validate, {}, token);
          assert.equal(capabilities[0]?.group?.id, world.acme.uid);
        }
      });

      test("a person in no mapped group gets no rights from mappings but a refresh token", async () => {
        const { token, refresh_token } = await signIn("gwen", { create_refresh_token: "true" });
        assert.equal(await seen(token), 0);
        assert.ok(refresh_token);
      });

      test("rights of mapped groups continue in an exchanged token until the session ends, unless it is narrowed", async () => {
        const { token = "" } = await signIn("erin");
        const again = await world.must(SecurityTokenService.method.exchange, {}, token);
        assert.ok((await seen(again.token)) > 0);
        assert.equal(again.refreshToken, "");
        assert.ok(Number(claimsOf(again.token).exp) <= Number(claimsOf(token).exp));
        const narrowed = await world.must(SecurityTokenService.method.exchange, { cap: ["groups.list"] }, token);
        assert.equal(await seen(narrowed.token), 0);
      });

      test("rights of mapped groups end with the mapping for the next request of existing tokens", async () => {
        const { token } = await signIn("erin");
        assert.ok((await seen(token)) > 0);
        await world.must(ExternalGroupRoleMappingsService.method.deleteExternalGroupRoleMapping, { uid: mapping });
        assert.equal(await seen(token), 0);
        assert.ok((await signIn("erin", { create_refresh_token: "true" })).refresh_token);
      });
    });
  });
}

for (const store of storeNames) {
  describe(`scope of a sign-in with an organization's provider on ${store}`, () => {
    const see = async (world: SignInWorld, token: string): Promise<string[]> =>
      (await world.must(GroupsService.method.listGroups, {}, token)).groups.map(({ name }) => name).sort();
    async function signIn(world: SignInWorld, way: Readonly<Record<string, string>>): Promise<string> {
      const { url } = await world.visitor().walk(world.oauth({ redirect: PROGRAM, ...way }), "alice");
      return parametersOf(url).token ?? "";
    }
    async function bindElsewhere(world: SignInWorld): Promise<void> {
      const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
      const roleBinding = { identityUid: userIdentityUid(world.upstream.issuer, "alice"), roleUid };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding });
    }

    test("the sign-in is valid everywhere until another organization uses the issuer, and then in the organization only", async () => {
      await using world = await startSignInWorld({ store, hasOperator: false });
      await bindElsewhere(world);
      assert.deepEqual(await see(world, await signIn(world, { idp_id: "acme.test" })), ["acme.test", "my-org"]);
      const oidc = { issuer: world.upstream.issuer, clientId: "another", clientSecret: "secret" };
      const identityProvider = { name: "rival", defaultRole: BUILT_IN_VIEWER, configuration: { case: "oidc", value: oidc } } as const;
      await world.must(IdentityProvidersService.method.createIdentityProvider, { parent: world.orgUid, identityProvider });
      const confined = await signIn(world, { idp_id: "acme.test" });
      assert.deepEqual(await see(world, confined), ["acme.test"]);
      assert.deepEqual(await see(world, (await world.must(SecurityTokenService.method.exchange, {}, confined)).token), ["acme.test"]);
    });

    test("the sign-in is valid in the organization only if the operator trusts the issuer", async () => {
      await using world = await startSignInWorld({ store });
      await bindElsewhere(world);
      assert.deepEqual(await see(world, await signIn(world, { idp_id: "acme.test" })), ["acme.test"]);
      assert.deepEqual(await see(world, await signIn(world, { client_id: "holt" })), ["acme.test", "my-org"]);
    });

    test("the sign-in fails if the provider gets another client meanwhile", async () => {
      await using world = await startSignInWorld({ store });
      const visitor = world.visitor();
      const callback = await visitor.walkToCallback(world.oauth({ idp_id: "acme.test", redirect: PROGRAM }), "alice");
      const identityProvider = { uid: world.acme.provider, configuration: { case: "oidc", value: { clientId: "another" } } } as const;
      const updateMask = { paths: ["oidc.client_id"] };
      await world.must(IdentityProvidersService.method.updateIdentityProvider, { identityProvider, updateMask });
      const { error = "", token } = parametersOf((await visitor.walk(callback, "alice")).url);
      assert.equal(token, undefined);
      assert.match(error, /Start again/);
    });
  });
}

test("a sign-in works however long ago the clock of the tests has stopped", async () => {
  await using world = await startSignInWorld({ hasOperator: false });
  world.clock.advance(-10 * 60_000);
  const { url } = await world.visitor().walk(world.oauth({ idp_id: "acme.test", redirect: PROGRAM }), "alice");
  assert.ok(parametersOf(url).token, url);
});
