/** Sessions that begin at the same moment as their account is recovered, linked or unlinked, or after that. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { AccountLinksService } from "@holt/api/gen/holt/v1/account_links_pb.ts";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { totpCode } from "../../src/iam/accounts/totp.ts";
import { storeNames } from "../harness/harness.ts";
import {
  createHolder,
  type Holder,
  nextCode,
  secretOf,
  signInWithPassword,
  submitPassword,
  submitTo,
} from "../harness/sign-in/account-visitor.ts";
import { linking, uidOf } from "../harness/sign-in/linking.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import type { Answer } from "../harness/sign-in/visitor.ts";

const ROUNDS = 10;
/** A code of an authenticator app is valid for this long. */
const TIME_STEP_MS = 30_000;

for (const store of storeNames) {
  describe(`sessions that begin while their account changes, on ${store}`, () => {
    const world = {} as SignInWorld;
    const { allow, linksOf, personUid, person, link, begin, signIn, act, throughAcme } = linking(world);
    before(async () => {
      Object.assign(world, await startSignInWorld({ store, hasOperator: false }));
      await allow(true);
    });
    after(() => world[Symbol.asyncDispose]());

    const sessionsThroughAcme = (identityUid: string) =>
      world.store.reader
        .selectFrom("login_session")
        .select("uid")
        .where("identity_uid", "=", identityUid)
        .where("provider", "=", world.acme.provider)
        .execute();

    function consoleQuery(verifier: string, parameters: Readonly<Record<string, string>> = {}): Record<string, string> {
      const challenge = createHash("sha256").update(verifier).digest("base64url");
      const state = randomBytes(32).toString("base64url");
      const asks = { response_type: "code", redirect_uri: "/console/sign-in", state };
      return { ...asks, code_challenge: challenge, code_challenge_method: "S256", ...parameters };
    }
    const codeOf = ({ headers, text }: Answer) => {
      const location = headers.get("location") ?? /content="0; url=([^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
      return new URL(location, world.baseUrl).searchParams.get("code") ?? "";
    };

    /** Signs in at the organization's provider for the console. @returns redeems the code, with the status of the answer */
    async function signedInThroughAcme(account: string): Promise<() => Promise<number>> {
      const verifier = randomBytes(32).toString("base64url");
      const visitor = world.visitor();
      const answer = await visitor.visit(
        await visitor.walkToCallback(world.oauth(consoleQuery(verifier, { idp_id: "acme.test" })), account),
      );
      return () => redeem(codeOf(answer), verifier);
    }

    async function redeem(code: string, verifier: string): Promise<number> {
      assert.notEqual(code, "");
      const { status } = await fetch(`${world.baseUrl}/oauth/session`, {
        method: "POST",
        headers: { "x-holt-console": "1", "sec-fetch-site": "same-origin" },
        body: new URLSearchParams({ grant_type: "authorization_code", code, code_verifier: verifier }),
      });
      return status;
    }

    test("a sign-in from before the removal of its link begins no session afterwards", async () => {
      const holder = await person("late@example.test");
      await link(holder, "late");
      const login = await signedInThroughAcme("late");
      const [{ uid = "" } = {}] = await linksOf(holder.token);
      await world.must(AccountLinksService.method.removeAccountLink, { uid }, holder.token);
      assert.equal(await login(), 401);
      assert.deepEqual(await sessionsThroughAcme(uidOf(holder.token)), []);
    });

    test("no session is left when a link is removed at the moment of a login through it", async () => {
      const holder = await person("moment@example.test");
      for (let round = 0; round < ROUNDS; round++) {
        await link(holder, "moment");
        const [{ uid = "" } = {}] = await linksOf(holder.token);
        const logins = [await signedInThroughAcme("moment"), await signedInThroughAcme("moment")];
        await Promise.all([logins[0]?.(), world.must(AccountLinksService.method.removeAccountLink, { uid }, holder.token), logins[1]?.()]);
        assert.deepEqual(await sessionsThroughAcme(uidOf(holder.token)), []);
      }
    });

    test("a sign-in from before a link begins no session of the identity that the account replaces", async () => {
      const holder = await person("before@example.test");
      await throughAcme("before");
      const visitor = world.visitor();
      const question = await begin(visitor, holder, "before");
      const login = await signedInThroughAcme("before");
      await submitTo(visitor, question, "/oauth/account/connect", { answer: "yes" });
      assert.equal((await linksOf(holder.token)).length, 1);
      assert.equal(await login(), 401);
      assert.deepEqual(await sessionsThroughAcme(personUid("before")), []);
    });

    test("a sign-in from before the person signed out everywhere begins no session afterwards", async () => {
      const holder = await createHolder(world, "recovered@example.test");
      const visitor = world.visitor();
      const page = await signIn(visitor, holder);
      const verifier = randomBytes(32).toString("base64url");
      const attempt = { ...holder, code: nextCode(world, holder.secret) };
      const path = `/oauth?${new URLSearchParams(consoleQuery(verifier))}`;
      const code = codeOf(await signInWithPassword(world, world.visitor(), attempt, path));
      assert.match((await act(visitor, page, "end-sessions", {})).text, /signed out everywhere/);
      assert.equal(await redeem(code, verifier), 401);
    });

    test("a sign-in leaves no session if its password is replaced while it is checked", async () => {
      const uid = ({ token }: Holder) => claimsOf(token).sub ?? "";
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await createHolder(world, `replaced-${round}@example.test`);
        const link = await world.must(AccountsService.method.createAccountRecovery, { uid: uid(holder), resetSecondFactor: true });
        const person = world.visitor();
        const app = await submitTo(person, await person.visit(link.url), "/oauth/account/set-up", { password: "another long password" });
        const code = nextCode(world, secretOf(app));
        const thief = world.visitor();
        const page = await thief.visit(`${world.baseUrl}/oauth`);
        world.clock.advance(TIME_STEP_MS);
        const stolen = { ...holder, code: totpCode(holder.secret, world.clock.now()) };
        const [signedIn, recovered] = await Promise.all([
          submitPassword(thief, page, stolen),
          submitTo(person, app, "/oauth/account/app", { code }),
        ]);
        assert.equal(recovered.status, 200, recovered.text);
        const sessions = world.store.reader.selectFrom("login_session").select("uid").where("identity_uid", "=", uid(holder));
        assert.deepEqual(await sessions.execute(), [], signedIn.text);
      }
    });
  });
}
