/** Strangers who bind a person in an organization of their own learn nothing of the person and break nothing for it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { MembershipsService, Membership_State as State } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { sql } from "kysely";
import { MAX_PENDING_BINDINGS } from "../../src/iam/grants/pending-bindings.ts";
import { memberships } from "../../src/iam/migrations/025-memberships.ts";
import { Code } from "../../src/lib/errors.ts";
import { isInRoot } from "../../src/lib/uid.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { assertRefused } from "../harness/refusal.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const { acceptMembership, leaveMembership, leaveRoleBinding, listMemberships } = MembershipsService.method;

describeWithWorld("memberships", (world) => {
  let count = 0;
  const found = async (founder: Caller, name: string) =>
    textOf(parse((await world.raw("POST", "/iam/v2/groups", { name }, founder.token)).text).uid);
  const bind = async (stranger: Caller, identityUid: string, group: string, role = "owner") => {
    const answer = await world.raw(
      "POST",
      `/iam/v2/roleBindings/${group}`,
      { identityUid, roleUid: await builtInRole(world, role) },
      stranger.token,
    );
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  /** A user whose issuer has verified an email address. */
  const victimOf = async () => {
    const subject = `victim-${++count}`;
    const email = `${subject}@victim.test`;
    const proof = await world.proofOf(subject, { email, email_verified: true });
    assert.equal((await world.raw("POST", "/auth/v1/register", {}, proof)).status, 200);
    const token = textOf(parse((await world.raw("POST", "/sts/exchange", undefined, proof)).text).token);
    return { uid: world.userUid(subject), token, subject, email };
  };
  const stateOf = async (who: Caller, org: string) =>
    (await world.must(listMemberships, {}, who.token)).memberships.find(({ uid }) => uid === org)?.state;

  it("a stranger who binds a user reads neither its name, email, issuer nor subject until the user accepts", async () => {
    const [victim, stranger] = [await victimOf(), await world.user()];
    const org = await found(stranger, "trap");
    const { uid: bindingUid } = await bind(stranger, victim.uid, org);
    const read = async (path: string) => (await world.raw("GET", path, undefined, stranger.token)).text;
    const paths = [
      `/iam/v2/roleBindings/${bindingUid}`,
      `/iam/v2/roleBindings?identity=${victim.uid}`,
      `/iam/v2/identities/${victim.uid}`,
      "/iam/v2/identities",
      `/iam/v2/identities?uidp.ids=${victim.uid}`,
      `/iam/v2/identities?name=${victim.subject}-victim.test`,
      "/iam/v2/identities?relationship_type=RELATIONSHIP_TYPE_CLAIM_MATCH&order_by=name",
      `/holt/v1/access/${org}:explain?identityUid=${victim.uid}&capability=CAP_IAM_GROUPS_LIST`,
    ];
    const before = await lastSeq(world);
    assert.equal((await world.raw("POST", `/iam/v2/groups/${org}`, { name: "made" }, victim.token)).status, 200);
    const secrets = [victim.subject, victim.email];
    const eventsOfTrap = async () => (await eventsAfter(world, before)).map(({ data }) => data).join();
    for (const path of paths.slice(0, 5).concat(paths.slice(6))) {
      const text = await read(path);
      for (const secret of secrets) assert.ok(!text.includes(secret), `${path}: ${text}`);
    }
    for (const path of paths.slice(3, 7)) {
      const { identities, totalCount } = parse(await read(path)) as { identities: JsonObject[]; totalCount: string };
      assert.deepEqual([identities.filter(({ uid }) => uid === victim.uid), path.includes("ids") ? totalCount : "0"], [[], "0"], path);
    }
    for (const secret of secrets) assert.ok(!(await eventsOfTrap()).includes(secret));
    assert.ok((await eventsOfTrap()).includes(victim.uid));

    await world.join(victim, org);
    const { identity } = parse(await read(paths[0] ?? "")) as { identity: JsonObject };
    assert.deepEqual([identity.subject, identity.issuer, identity.email], [victim.subject, world.issuer, victim.email]);
    for (const path of paths.slice(2)) assert.ok((await read(path)).includes(`${victim.subject}-victim.test`), path);
    assert.equal((await world.raw("POST", `/iam/v2/groups/${org}`, { name: "made" }, victim.token)).status, 200);
    assert.ok((await eventsOfTrap()).includes(victim.subject));
  });

  it("names of images, packages and groups mean those of organizations that the caller has joined", async () => {
    const [victim, stranger] = [await victimOf(), await world.user()];
    const name = `acme${++count}`;
    const own = await found(victim, name);
    assert.equal((await world.raw("POST", `/registry/v2/repos/${own}`, { name: "app" }, victim.token)).status, 200);
    const statuses = async () => {
      const headers = { authorization: `Bearer ${victim.token}` };
      const image = await world.http("GET", `/v2/${name}/app/tags/list`, undefined, headers);
      const library = await world.http("GET", `/libraries/python/${name}/simple/`, undefined, headers);
      const folder = await world.raw("POST", `/iam/v2/groups/${name}`, { name: "folder" }, victim.token);
      return [image.status, library.status, folder.status];
    };
    assert.deepEqual(await statuses(), [200, 200, 200]);
    const trap = await found(stranger, name);
    await bind(stranger, victim.uid, trap);
    assert.deepEqual(await statuses(), [200, 200, 200]);
    // A person who joins both has to name one of them by its uid.
    await world.join(victim, trap);
    assert.deepEqual(await statuses(), [400, 400, 400]);
    await world.must(leaveMembership, { uid: trap }, victim.token);
    assert.deepEqual(await statuses(), [200, 200, 200]);
  });

  it("a user declines an organization, whose bindings then have no effect until the user accepts", async () => {
    const [victim, stranger] = [await victimOf(), await world.user()];
    const org = await found(stranger, "unwanted");
    const folder = textOf(parse((await world.raw("POST", `/iam/v2/groups/${org}`, { name: "folder" }, stranger.token)).text).uid);
    for (const group of [org, folder]) await bind(stranger, victim.uid, group, "viewer");
    const status = async () => (await world.raw("GET", `/iam/v2/groups/${folder}`, undefined, victim.token)).status;
    assert.deepEqual([await status(), await stateOf(victim, org)], [200, State.PENDING]);
    const before = await lastSeq(world);
    const left = await world.must(leaveMembership, { uid: org }, victim.token);
    assert.deepEqual([left.state, left.identityUid, left.name], [State.LEFT, victim.uid, "unwanted"]);
    await world.must(leaveMembership, { uid: org }, victim.token);
    const events = (await eventsAfter(world, before)).map(({ type, subject, group_uid }) => [
      type.split(".").slice(-3).join("."),
      subject,
      group_uid,
    ]);
    assert.deepEqual(events, [["membership.left.v1", victim.uid, org]]);
    const bindings = parse((await world.raw("GET", `/iam/v2/roleBindings?identity=${victim.uid}`, undefined, stranger.token)).text);
    assert.deepEqual([bindings.totalCount, await status()], ["0", 403]);
    await bind(stranger, victim.uid, org, "viewer");
    assert.deepEqual([await status(), await stateOf(victim, org)], [403, State.LEFT]);
    const beforeSecond = await lastSeq(world);
    await world.must(leaveMembership, { uid: org }, victim.token);
    const second = (await eventsAfter(world, beforeSecond)).map(({ data }) => data).join();
    assert.deepEqual(
      [victim.uid, victim.subject, victim.email].map((text) => second.includes(text)),
      [true, false, false],
    );
    await bind(stranger, victim.uid, org, "viewer");
    await world.join(victim, org);
    assert.deepEqual([await status(), await stateOf(victim, org)], [200, State.JOINED]);
  });

  it("a user leaves one role binding and keeps the others", async () => {
    const [victim, stranger] = [await victimOf(), await world.user()];
    const org = await found(stranger, "one of two");
    const { uid } = await bind(stranger, victim.uid, org, "viewer");
    await bind(stranger, victim.uid, org, "registry.pull");
    const foreign = await bind(stranger, (await victimOf()).uid, org, "viewer");
    const leave = (binding: unknown) => world.raw("POST", `/holt/v1/roleBindings/${binding}:leave`, {}, victim.token);
    assertRefused(await leave(foreign.uid), Code.NOT_FOUND);
    const before = await lastSeq(world);
    assert.equal((await leave(uid)).status, 200);
    assertRefused(await leave(uid), Code.NOT_FOUND);
    assert.deepEqual(
      (await eventsAfter(world, before)).map(({ subject, group_uid }) => [subject, group_uid]),
      [[uid, org]],
    );
    const left = parse((await world.raw("GET", `/iam/v2/roleBindings?identity=${victim.uid}`, undefined, stranger.token)).text);
    assert.equal(left.totalCount, "1");
  });

  it("an organization keeps its last owner, but nobody can make a stranger stay as one", async () => {
    const [victim, stranger] = [await victimOf(), await world.user()];
    const own = await found(stranger, "kept");
    const { uid: binding } = (
      parse((await world.raw("GET", `/iam/v2/roleBindings?group=${own}`, undefined, stranger.token)).text).roleBindings as JsonObject[]
    )[0] as JsonObject;
    for (const [method, uid] of [
      [leaveMembership, own],
      [leaveRoleBinding, textOf(binding)],
    ] as const) {
      const outcome = await world.rest.call(method, { uid }, stranger.token);
      assert.equal(!outcome.ok && outcome.error.code, Code.FAILED_PRECONDITION);
    }
    await bind(stranger, victim.uid, own);
    await world.must(leaveMembership, { uid: own }, stranger.token);
    // The only owner left has not joined.
    assert.equal((await world.raw("DELETE", `/auth/v1/delete/${victim.uid}`, undefined, victim.token)).status, 200);
  });

  it("bindings that strangers make neither enter the answer to whoami nor grow the rights of a user without bound", async () => {
    const [victim, stranger] = [await victimOf(), await world.user()];
    const org = await found(stranger, "flood");
    const roles = (parse((await world.raw("GET", "/iam/v2/roles?uidp.inRoot=true&page_size=200")).text).roles as JsonObject[])
      .map(({ uid, name }) => ({ uid: textOf(uid), name: textOf(name) }))
      .filter(({ uid, name }) => isInRoot(uid) && !["owner", "argos.osv.reader"].includes(name) && !name.startsWith("advisories."))
      .slice(0, 20);
    let made = 0;
    let last = "";
    while (made < MAX_PENDING_BINDINGS + 50) {
      world.clock.advance(1);
      last = textOf(parse((await world.raw("POST", `/iam/v2/groups/${org}`, { name: "x" }, stranger.token)).text).uid);
      const requests = roles.map(({ uid }) => ({ roleBinding: { identityUid: victim.uid, roleUid: uid } }));
      const answer = await world.raw("POST", "/iam/v2/roleBindings:batchCreate", { parent: last, requests }, stranger.token);
      assert.equal(answer.status, 200, answer.text);
      made += requests.length;
    }
    const whoAmI = async () => parse((await world.raw("GET", "/auth/v1/ok", undefined, victim.token)).text).capabilities as JsonObject[];
    const status = async () => (await world.raw("GET", `/iam/v2/groups/${last}`, undefined, victim.token)).status;
    const own = await found(victim, "own");
    assert.deepEqual(
      (await whoAmI()).map(({ group }) => (group as JsonObject).id),
      [own],
    );
    assert.equal(await status(), 403);
    // Bindings in another organization count, although they are younger.
    const [friend, work] = [await world.user(), await world.user()];
    const later = await found(friend, "later");
    await bind(friend, victim.uid, later, "viewer");
    assert.equal((await world.raw("GET", `/iam/v2/groups/${later}`, undefined, victim.token)).status, 200);
    // Whichever organization comes first by its uid.
    const another = await found(work, "another");
    await bind(work, victim.uid, another, "viewer");
    assert.equal((await world.raw("GET", `/iam/v2/groups/${another}`, undefined, victim.token)).status, 200);
    await world.join(victim, org);
    assert.equal(await status(), 200);
    const changes = async () => {
      if (world.store.reader.dialect.notify === undefined) return [];
      return world.store.reader.selectFrom("access_change").select("identity_uid").where("identity_uid", "=", victim.uid).execute();
    };
    const before = (await changes()).length;
    await world.must(leaveMembership, { uid: org }, victim.token);
    // One row for each transaction that deleted bindings, so that other servers drop the bindings from their caches.
    const { notify } = world.store.reader.dialect;
    assert.equal((await changes()).length - before, notify === undefined ? 0 : 2);
    assert.deepEqual(
      (await whoAmI()).map(({ group }) => (group as JsonObject).id),
      [own],
    );
    const left = await world.store.reader.selectFrom("role_binding").select("parent").where("identity_uid", "=", victim.uid).execute();
    assert.deepEqual(left.map(({ parent }) => parent).toSorted(), [own, later, another].toSorted());
  });

  it("memberships are listed in pages, and by state", async () => {
    const [user, other] = [await victimOf(), await world.user()];
    const joined = [await found(user, "a"), await found(user, "b")];
    const pending = await found(other, "c");
    await bind(other, user.uid, pending);
    const all: string[] = [];
    for (let pageToken = ""; ; ) {
      const page = await world.must(listMemberships, { pageSize: 2, pageToken }, user.token);
      all.push(...page.memberships.map(({ uid }) => uid));
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    assert.deepEqual(all, [...joined, pending].toSorted());
    for (const [state, expected] of [
      [State.JOINED, joined.toSorted()],
      [State.PENDING, [pending]],
      [State.LEFT, []],
    ] as const)
      assert.deepEqual(
        (await world.must(listMemberships, { state }, user.token)).memberships.map(({ uid }) => uid),
        expected,
      );
  });

  it("only an unrestricted token of a bound user joins, and only organizations can be joined", async () => {
    const [user, other] = [await victimOf(), await world.user()];
    const org = await found(other, "closed");
    const folder = textOf(parse((await world.raw("POST", `/iam/v2/groups/${org}`, { name: "folder" }, other.token)).text).uid);
    const accept = (uid: string, token = user.token) => world.rest.call(acceptMembership, { uid }, token);
    const codeFor = async (uid: string, token?: string) => {
      const outcome = await accept(uid, token);
      return outcome.ok ? 0 : outcome.error.code;
    };
    assert.equal(await codeFor(org), Code.NOT_FOUND);
    await bind(other, user.uid, folder, "viewer");
    const robot = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    assert.equal(await codeFor(world.orgUid, robot.token), Code.NOT_FOUND);
    for (const narrowing of [{ cap: ["groups.list"] }, { scopes: [folder] }])
      assert.equal(await codeFor(org, (await world.narrow(user, narrowing)).token), Code.PERMISSION_DENIED);
    assert.equal(await codeFor(org), 0);
    assertRefused(await world.raw("POST", "/holt/v1/memberships/nonsense:accept", {}, user.token), Code.NOT_FOUND);
  });

  it("registered users who are bound at the upgrade have joined, and users who never signed in have not", async () => {
    const [user, other] = [await victimOf(), await world.user()];
    const org = await found(other, "old");
    const folder = textOf(parse((await world.raw("POST", `/iam/v2/groups/${org}`, { name: "folder" }, other.token)).text).uid);
    for (const uid of [user.uid, world.userUid("not registered yet")]) await bind(other, uid, folder, "viewer");
    await world.store.transaction(async (db) => {
      await db.deleteFrom("membership").execute();
      for (const statement of memberships.statements(db.dialect))
        if (statement.startsWith("insert into membership")) await sql.raw(statement).execute(db);
    });
    const rows = await world.store.reader.selectFrom("membership").select("identity_uid").where("org_uid", "=", org).execute();
    assert.deepEqual(rows.map((row) => row.identity_uid).toSorted(), [user.uid, other.uid].toSorted());
    assert.equal(await stateOf(user, org), State.JOINED);
  });

  it("an organization in which people joined can be deleted", async () => {
    const [user, other] = [await victimOf(), await world.user()];
    const org = await found(other, "short-lived");
    await bind(other, user.uid, org, "viewer");
    await world.join(user, org);
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${org}`, undefined, other.token)).status, 200);
    assert.equal(await stateOf(user, org), undefined);
  });
});
