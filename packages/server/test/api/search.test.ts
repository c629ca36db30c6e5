/** The search for names, on both stores. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { SearchHit_Kind as Kind, SearchService } from "@holt/api/gen/holt/v1/search_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const { search } = SearchService.method;
const DIGEST = `sha256:${"a".repeat(64)}`;

describeWithWorld("the search", (world) => {
  const find = async (request: object, { token }: Caller = world.owner) => {
    const [rest, grpc] = await Promise.all(
      [world.rest, world.grpc].map((client) => client.call(search, { parent: world.orgUid, ...request } as never, token)),
    );
    assert.deepEqual(answerOf(rest!), answerOf(grpc!));
    return answerOf(rest!);
  };
  const createRepo = async (parent: string, name: string) =>
    (await world.must(ReposService.method.createRepo, { parent, repo: { name } })).uid;

  it("the search finds each kind by the beginning and by a later part of the name, beginnings first", async () => {
    const team = await world.group(world.orgUid, "search-payments");
    const repo = await createRepo(team, "payments-api");
    const other = await createRepo(team, "old-payments");
    await world.must(TagsService.method.createTag, { parent: repo, tag: { name: "payments-1", digest: DIGEST } });
    const { hits, incomplete } = await find({ text: "PAYMENTS" });
    assert.deepEqual(
      hits.map(({ kind, uid, name, context }) => [kind, kind === Kind.TAG ? "" : uid, name, context]),
      [
        [Kind.GROUP, team, "search-payments", ""],
        [Kind.REPOSITORY, repo, "payments-api", ""],
        [Kind.REPOSITORY, other, "old-payments", ""],
        [Kind.TAG, "", "payments-1", "payments-api"],
      ],
    );
    assert.equal(incomplete, false);
    assert.deepEqual(
      (await find({ text: "payments", kinds: [Kind.TAG] })).hits.map(({ kind }) => kind),
      [Kind.TAG],
    );
  });

  it("the search shows a caller only kinds and groups where it may list them", async () => {
    const [seen, hidden] = [await world.group(world.orgUid, "narrow-a"), await world.group(world.orgUid, "narrow-b")];
    const repo = await createRepo(seen, "narrow-repo");
    await createRepo(hidden, "narrow-repo");
    const caller = await world.robot(seen, [Capability.CAP_REPO_LIST]);
    const { hits } = await find({ text: "narrow" }, caller);
    assert.deepEqual(
      hits.map(({ uid }) => uid),
      [repo],
    );
    const stranger = await world.must(GroupsService.method.createGroup, { group: { name: "narrow-organization" } });
    assert.deepEqual((await find({ text: "narrow", parent: stranger.uid }, caller)).hits, []);
    assert.deepEqual((await find({ text: "narrow", parent: "f".repeat(40) })).hits, []);
  });

  it("the search finds names for a caller whose rights come from many groups", async () => {
    const groups = await Promise.all(Array.from({ length: 33 }, (_, i) => world.group(world.orgUid, `many-${i}`)));
    const repo = await createRepo(groups[32]!, "many-repo");
    const caller = await world.robot(world.orgUid);
    const role = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
    for (const group of groups) await world.bind(caller.uid, role, group);
    const { hits } = await find({ text: "many-repo" }, caller);
    assert.deepEqual(
      hits.map(({ uid }) => uid),
      [repo],
    );
  });

  it("the search finds people by their email and name where the caller may list identities and they are bound", async () => {
    const [seen, hidden] = [await world.group(world.orgUid, "people-a"), await world.group(world.orgUid, "people-b")];
    const person = async (subject: string, email?: string) => {
      const proof = await world.proofOf(subject, email === undefined ? {} : { email, email_verified: true });
      await world.raw("POST", "/auth/v1/register", {}, proof);
      return { uid: world.userUid(subject), token: proof };
    };
    const ann = await person("ann", "first@found.example.com");
    const bob = await person("found bob");
    const role = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
    const request = { kinds: [Kind.IDENTITY] };
    const namesOf = async (text: string, caller = world.owner, parent = world.orgUid) =>
      (await find({ ...request, text, parent }, caller)).hits.map(({ uid, name }) => [uid, name]);
    for (const [{ uid }, group] of [
      [ann, seen],
      [bob, hidden],
    ] as const)
      await world.bind(uid, role, group);
    assert.deepEqual(await namesOf("found"), []);
    for (const { uid, token } of [ann, bob]) {
      const { token: access } = JSON.parse((await world.raw("POST", "/sts/exchange", undefined, token)).text) as { token: string };
      await world.join({ uid, token: access }, world.orgUid);
    }
    const [annHit, bobHit] = [
      [ann.uid, "first@found.example.com"],
      [bob.uid, "found bob"],
    ];
    assert.deepEqual(await namesOf("FOUND"), [bobHit, annHit]);
    assert.deepEqual(await namesOf("first@found"), [annHit]);
    const lister = await world.robot(seen, [Capability.CAP_IAM_IDENTITY_LIST]);
    assert.deepEqual(await namesOf("found", lister), [annHit]);
    // As a sign-in with the organization's own provider stores it.
    const email = "Work@found.example.com";
    await world.store.transaction((db) => db.updateTable("membership").set({ email }).where("identity_uid", "=", ann.uid).execute());
    assert.deepEqual(await namesOf("work@", lister), [[ann.uid, email]]);
    const { identities } = await world.must(IdentitiesService.method.listIdentities, {}, lister.token);
    assert.equal(identities.find(({ uid }) => uid === ann.uid)?.emailUnverified, email);
    assert.deepEqual(await namesOf("found", await world.robot(seen, [Capability.CAP_REPO_LIST])), []);
    const other = await world.must(GroupsService.method.createGroup, { group: { name: "people-elsewhere" } });
    assert.deepEqual(await namesOf("found", world.owner, other.uid), []);
    const machine = await world.must(IdentitiesService.method.createIdentity, {
      parent: seen,
      identity: {
        name: "first machine",
        relationship: {
          case: "claimMatch",
          value: { iss: { case: "issuer", value: "https://issuer.example.com" }, sub: { case: "subject", value: "machine" } },
        },
      },
    });
    assert.deepEqual(await namesOf("first"), [[machine.uid, "first machine"], annHit]);
    const one = await find({ ...request, text: "first", pageSize: 1 });
    assert.deepEqual([one.hits.length, one.incomplete], [1, true]);
  });

  it("the search treats patterns as text, limits each kind, and says whether there is more", async () => {
    const team = await world.group(world.orgUid, "limits");
    for (const name of ["page-1", "page-2", "page-3"]) await createRepo(team, name);
    const request = { text: "page-", kinds: [Kind.REPOSITORY] };
    const { hits, incomplete } = await find({ ...request, pageSize: 2 });
    assert.deepEqual(
      hits.map(({ name }) => name),
      ["page-1", "page-2"],
    );
    assert.equal(incomplete, true);
    assert.equal((await find({ ...request, pageSize: 3 })).incomplete, false);
    await createRepo(team, "last-page-");
    assert.equal((await find({ ...request, pageSize: 3 })).incomplete, true, "a later part of a name has the text");
    assert.deepEqual((await find({ ...request, text: "pag%" })).hits, []);
    assert.deepEqual((await find({ ...request, text: "page_" })).hits, []);
  });

  it("the search refuses texts that are too short or too long, large pages, and parents that are not organizations", async () => {
    const team = await world.group(world.orgUid, "not-an-organization");
    for (const request of [{ text: "a" }, { text: "x".repeat(101) }, { text: "ok", pageSize: 21 }, { text: "ok", parent: team }])
      assert.equal(
        codeOf(await world.grpc.call(search, { parent: world.orgUid, ...request }, world.token)),
        Code.INVALID_ARGUMENT,
        JSON.stringify(request).slice(0, 60),
      );
  });
});
