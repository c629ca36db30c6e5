import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MembershipsService } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { Session_Kind as Kind, type Session, SessionsService } from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import { eventsAfter } from "../harness/outbox.ts";
import { claimsOf, PROGRAM, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const { listSessions, endSession, endSessions } = SessionsService.method;
const { exchangeRefreshToken } = SecurityTokenService.method;

interface SignedIn {
  readonly uid: string;
  readonly token: string;
  readonly refresh: string;
  readonly session: string;
}

for (const store of storeNames) {
  describe(`sessions on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store })));
    after(() => world[Symbol.asyncDispose]());

    async function signIn(account: string, more: Readonly<Record<string, string>> = { client_id: "holt" }): Promise<SignedIn> {
      const start = world.oauth({ redirect: PROGRAM, create_refresh_token: "true", ...more });
      const { searchParams } = new URL((await world.visitor().walk(start, account)).url);
      const token = searchParams.get("token") ?? "";
      const { sub = "", sid } = claimsOf(token);
      return { uid: sub, token, refresh: searchParams.get("refresh_token") ?? "", session: sid as string };
    }
    const codeAs = async (token: string) => codeOf(await world.rest.call(Auth.method.validate, {}, token));
    const refreshCode = async (refresh: string) => codeOf(await world.rest.call(exchangeRefreshToken, {}, refresh));
    const own = async ({ token }: SignedIn): Promise<Session[]> => (await world.must(listSessions, {}, token)).sessions;

    test("a sign-in begins one session, which its refreshed tokens belong to", async () => {
      const person = await signIn("sessions-1");
      const [session, ...others] = await own(person);
      assert.deepEqual(others, []);
      assert.equal(session?.uid, person.session);
      assert.equal(session.identityUid, person.uid);
      assert.equal(session.kind, Kind.PROGRAM);
      assert.equal(session.client, "holt");
      assert.equal(session.remoteAddress, "127.0.0.1");
      assert.match(session.userAgent, /\w/);
      assert.equal(session.issuer, world.upstream.issuer);
      assert.equal(session.current, true);
      world.clock.advance(60_000);
      const pair = await world.must(exchangeRefreshToken, {}, person.refresh);
      assert.equal(claimsOf(pair.token?.token ?? "").sid, person.session);
      const [later, ...more] = await own(person);
      assert.deepEqual(more, []);
      assert.equal(Number(later?.lastUseTime?.seconds) - Number(session.lastUseTime?.seconds), 60);
      assert.equal(codeOf(await world.rest.call(endSession, { uid: person.session }, pair.token?.token)), 0);
    });

    test("the end of a session voids its access tokens and refresh tokens with the next request", async () => {
      const [one, other] = [await signIn("sessions-2"), await signIn("sessions-2")];
      assert.equal(await codeAs(one.token), 0);
      const exchanged = await world.must(SecurityTokenService.method.exchange, {}, one.token);
      await world.must(endSession, { uid: one.session }, other.token);
      assert.deepEqual([await codeAs(one.token), await codeAs(exchanged.token)], [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED]);
      assert.equal(await refreshCode(one.refresh), Code.UNAUTHENTICATED);
      assert.equal(await codeAs(other.token), 0);
      const [event] = (await eventsAfter(world, 0)).filter(({ type }) => type.endsWith("session.ended.v1")).slice(-1);
      assert.equal(event?.subject, one.session);
      assert.equal(codeOf(await world.rest.call(endSession, { uid: one.session }, other.token)), Code.NOT_FOUND);
    });

    test("a person ends all other sessions at once and keeps the one of the call", async () => {
      const sessions = [await signIn("sessions-3"), await signIn("sessions-3"), await signIn("sessions-3")] as const;
      const [first, , last] = sessions;
      const { ended } = await world.must(endSessions, { keepCurrent: true }, last.token);
      assert.equal(ended, 2);
      assert.deepEqual([await codeAs(first.token), await refreshCode(first.refresh)], [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED]);
      assert.equal(await codeAs(last.token), 0);
      assert.equal((await world.must(endSessions, {}, last.token)).ended, 1);
      assert.equal(await codeAs(last.token), Code.UNAUTHENTICATED);
    });

    test("a stolen refresh token that is used twice ends its session", async () => {
      const person = await signIn("sessions-4");
      const pair = await world.must(exchangeRefreshToken, {}, person.refresh);
      assert.equal(await refreshCode(person.refresh), Code.UNAUTHENTICATED);
      assert.equal(await codeAs(pair.token?.token ?? ""), Code.UNAUTHENTICATED);
    });

    test("a device has one session, which may end before the device collects its tokens", async () => {
      const post = async (path: string, form: Readonly<Record<string, string>>) => {
        const response = await fetch(`${world.baseUrl}${path}`, { method: "POST", body: new URLSearchParams(form) });
        return (await response.json()) as Record<string, string>;
      };
      const signInDevice = async () => {
        const { device_code = "", user_code = "" } = await post("/oauth/device_authorization", { client_id: "tv" });
        const visitor = world.visitor();
        const page = await visitor.walk(`${world.baseUrl}/oauth/device?user_code=${user_code}&idp_id=acme.test`, "sessions-5");
        await visitor.submit(page, { answer: "yes" });
        return device_code;
      };
      const poll = (device_code: string) =>
        post("/oauth/token", { grant_type: "urn:ietf:params:oauth:grant-type:device_code", client_id: "tv", device_code });
      const { access_token = "", id_token = "" } = await poll(await signInDevice());
      const { token } = await world.must(SecurityTokenService.method.exchange, {}, id_token);
      assert.equal(claimsOf(token).sid, claimsOf(access_token).sid);
      const { sessions } = await world.must(listSessions, {}, token);
      assert.deepEqual(
        sessions.map(({ kind, client, within }) => [kind, client, within]),
        [[Kind.DEVICE, "tv", world.acme.uid]],
      );
      const waiting = await signInDevice();
      await world.must(endSessions, {}, token);
      assert.equal((await poll(waiting)).error, "access_denied");
    });

    test("an administrator sees and ends the sessions of people who have joined, and of nobody else", async () => {
      const [joined, bound] = [await signIn("sessions-6"), await signIn("sessions-7")];
      const roleUid = await world.role(world.acme.uid, [Capability.CAP_IAM_SESSIONS_LIST, Capability.CAP_IAM_SESSIONS_DELETE]);
      for (const { uid } of [joined, bound])
        await world.must(RoleBindingsService.method.createRoleBinding, {
          parent: world.acme.uid,
          roleBinding: { identityUid: uid, roleUid: world.acme.defaultRole },
        });
      await world.must(MembershipsService.method.acceptMembership, { uid: world.acme.uid }, joined.token);
      const organization = world.acme.uid;
      const listed = async (token: string) => {
        const { sessions } = await world.must(listSessions, { organization, pageSize: 200 }, token);
        return sessions.map(({ identityUid }) => identityUid).filter((uid) => uid === joined.uid || uid === bound.uid);
      };
      assert.deepEqual(await listed(world.token), [joined.uid]);
      const plain = await signIn("sessions-8");
      assert.equal(codeOf(await world.rest.call(listSessions, { organization }, plain.token)), Code.PERMISSION_DENIED);
      assert.equal(codeOf(await world.rest.call(endSession, { uid: joined.session, organization }, plain.token)), Code.PERMISSION_DENIED);
      assert.equal(codeOf(await world.rest.call(endSession, { uid: joined.session }, plain.token)), Code.NOT_FOUND);
      for (const identityUid of [bound.uid, plain.uid]) {
        assert.equal((await world.must(endSessions, { organization, identityUid }, world.token)).ended, 0);
        const { sessions } = await world.must(listSessions, { organization, identityUid }, world.token);
        assert.deepEqual(sessions, []);
      }
      assert.equal(codeOf(await world.rest.call(endSession, { uid: bound.session, organization }, world.token)), Code.NOT_FOUND);
      assert.notEqual(roleUid, "");
      const ended = await world.must(endSession, { uid: joined.session, organization }, world.token);
      assert.equal(ended.organization, organization);
      assert.equal(await codeAs(joined.token), Code.UNAUTHENTICATED);
      assert.equal(await codeAs(bound.token), 0);
    });

    test("an organization sees neither a session for another organization only, nor that organization's provider", async () => {
      const person = await signIn("sessions-9", { idp_id: "acme.test" });
      await world.must(RoleBindingsService.method.createRoleBinding, {
        parent: world.orgUid,
        roleBinding: { identityUid: person.uid, roleUid: await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]) },
      });
      const everywhere = await signIn("sessions-9");
      await world.must(MembershipsService.method.acceptMembership, { uid: world.orgUid }, everywhere.token);
      const sessionsAt = async (organization: string) =>
        (await world.must(listSessions, { organization, identityUid: person.uid })).sessions.map(({ uid }) => uid);
      assert.deepEqual(await sessionsAt(world.orgUid), [everywhere.session]);
      // The token for one organization, which that organization may hold, does not know the person's other sessions.
      assert.deepEqual(
        (await own(person)).map(({ uid }) => uid),
        [person.session],
      );
    });

    test("lists of sessions have pages, and workloads have no sessions", async () => {
      const people = [await signIn("sessions-10"), await signIn("sessions-10"), await signIn("sessions-10")];
      const token = people[0]?.token ?? "";
      const seen: string[] = [];
      for (let pageToken = ""; ; ) {
        const page = await world.must(listSessions, { pageSize: 2, pageToken }, token);
        seen.push(...page.sessions.map(({ uid }) => uid));
        pageToken = page.nextPageToken;
        if (pageToken === "") break;
      }
      assert.deepEqual(seen, people.map(({ session }) => session).sort());
      assert.deepEqual((await world.must(listSessions, {}, world.token)).sessions, []);
    });

    test("a deleted account leaves no session", async () => {
      const person = await signIn("sessions-11");
      await world.must(Auth.method.delete, { id: person.uid }, person.token);
      const rows = await world.store.reader.selectFrom("login_session").select("uid").where("identity_uid", "=", person.uid).execute();
      assert.deepEqual(rows, []);
      assert.equal(
        codeOf(await world.rest.call(IdentitiesService.method.getIdentity, { uid: person.uid }, person.token)),
        Code.UNAUTHENTICATED,
      );
    });

    test("a refresh token from before there were sessions begins one", async () => {
      const person = await signIn("sessions-12");
      const old = await startOld(world, person);
      const pair = await world.must(exchangeRefreshToken, {}, old);
      const sid = claimsOf(pair.token?.token ?? "").sid as string;
      await world.must(endSession, { uid: sid }, pair.token?.token);
      assert.equal(await refreshCode(pair.refreshToken?.token ?? ""), Code.UNAUTHENTICATED);
    });
  });
}

/** Makes the refresh token one of an earlier version. */
async function startOld({ store }: SignInWorld, { uid, refresh }: SignedIn): Promise<string> {
  await store.transaction(async (db) => {
    const row = await db
      .selectFrom("refresh_token")
      .select(["token_hash", "grant_json"])
      .where("identity_uid", "=", uid)
      .executeTakeFirstOrThrow();
    const { loginSession: _session, auth: _auth, ...grant } = JSON.parse(row.grant_json) as Record<string, unknown>;
    await db
      .updateTable("refresh_token")
      .set({ family: "0123456789abcdef", grant_json: JSON.stringify(grant) })
      .where("token_hash", "=", row.token_hash)
      .execute();
    await db.deleteFrom("login_session").where("identity_uid", "=", uid).execute();
  });
  return refresh;
}
