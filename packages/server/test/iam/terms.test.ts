import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { TermsService } from "@holt/api/gen/platform/iam/v2/terms_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertRefused } from "../harness/refusal.ts";
import { createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, startWorld } from "../harness/world.ts";

const path = "/iam/v2/terms";

describeWithWorld("terms", (world) => {
  const accept = (group: string, documentIds: unknown, token?: string) => world.raw("POST", `${path}/${group}`, { documentIds }, token);
  const list = async (group: string, query = "") => {
    const answer = await world.raw("GET", `${path}/${group}?${query.replaceAll(" ", "+")}`);
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text) as JsonObject & { termsAcceptances: JsonObject[]; totalCount: string; nextPageToken?: string };
  };

  it("accepting terms for a group records who accepted and when, and the first acceptance is kept", async () => {
    const group = await world.group(world.orgUid);
    const first = world.clock.now().toISOString();
    const answer = await accept(group, ["sfdpa.v1", "skills-tos.v1", "sfdpa.v1"]);
    assert.deepEqual(parse(answer.text), { group, documentIds: ["sfdpa.v1", "skills-tos.v1", "sfdpa.v1"] });
    world.clock.advance(1000);
    const other = await world.robot(group, [Capability.CAP_TERMS_ACCEPT]);
    assert.equal((await accept(group, ["sfdpa.v1", "guardener-tos.v1"], other.token)).status, 200);
    const { termsAcceptances, totalCount } = await list(group);
    const [acceptedBy, orgUid] = [world.owner.uid, group];
    assert.deepEqual(termsAcceptances, [
      { docId: "guardener-tos.v1", acceptedBy: other.uid, orgUid, createTime: world.clock.now().toISOString() },
      { docId: "sfdpa.v1", acceptedBy, orgUid, createTime: first },
      { docId: "skills-tos.v1", acceptedBy, orgUid, createTime: first },
    ]);
    assert.equal(totalCount, "3");
  });

  it("accepting the same terms again emits no event", async () => {
    const group = await world.group(world.orgUid);
    const events = () =>
      world.store.reader
        .selectFrom("outbox")
        .selectAll()
        .where("group_uid", "=", group)
        .where("type", "like", "%terms%")
        .orderBy("seq")
        .execute();
    for (const documentIds of [["a"], ["a"], ["a", "b"], ["b", "a"]]) await accept(group, documentIds);
    assert.deepEqual(
      (await events()).map(({ data, subject }) => [subject, (parse(data).body as JsonObject).document_ids]),
      [
        [group, ["a"]],
        [group, ["a", "b"]],
      ],
    );
  });

  it("accepted terms of a group and of the groups above are listed, and no others", async () => {
    const group = await world.group(world.orgUid);
    const below = await world.group(group);
    const deep = await world.group(below);
    await accept(group, ["of.group"]);
    await accept(below, ["of.below", "of.group"]);
    await accept(deep, ["of.deep"]);
    await accept(await world.group(group), ["of.sibling"]);
    const shown = (await list(below)).termsAcceptances.map(({ docId, orgUid }) => [docId, orgUid]);
    assert.deepEqual(shown, [
      ["of.below", below],
      ["of.group", group],
      ["of.group", below],
    ]);
  });

  it("accepted terms are listed in pages, in any order, with a skip", async () => {
    const group = await world.group(world.orgUid);
    const ids = ["c", "a", "e", "b", "d"];
    for (const id of ids) {
      await accept(group, [id]);
      world.clock.advance(1000);
    }
    const all = async (query: string) => {
      const found: string[] = [];
      for (let pageToken = ""; ; ) {
        const page = await list(group, `page_size=2&page_token=${pageToken}&${query}`);
        assert.equal(page.totalCount, "5");
        found.push(...page.termsAcceptances.map(({ docId }) => textOf(docId)));
        pageToken = page.nextPageToken ?? "";
        if (pageToken === "") return found;
      }
    };
    assert.deepEqual(await all(""), ["a", "b", "c", "d", "e"]);
    assert.deepEqual(await all("order_by=doc_id desc"), ["e", "d", "c", "b", "a"]);
    assert.deepEqual(await all("order_by=created_at"), ids);
    assert.deepEqual(await all("order_by=create_time desc"), ids.toReversed());
    // All have the same acceptor, so the order needs a tie-breaker.
    assert.deepEqual(await all("order_by=accepted_by"), ["a", "b", "c", "d", "e"]);
    assert.deepEqual(await all("order_by=accepted_by desc"), ["a", "b", "c", "d", "e"]);
    const skipped = await list(group, "page_size=2&skip=3");
    assert.deepEqual(
      [skipped.termsAcceptances.map(({ docId }) => docId), skipped.skipped, skipped.nextPageToken],
      [["d", "e"], 3, undefined],
    );
    const { nextPageToken } = await list(group, "page_size=2");
    for (const query of [`page_token=${nextPageToken}&order_by=doc_id+desc`, "page_token=nonsense"])
      assertInvalid(await world.raw("GET", `${path}/${group}?${query}`), "page_token");
    assertInvalid(await world.raw("GET", `${path}/${await world.group(group)}?page_token=${nextPageToken}`), "page_token");
    const later = (await list(group, "page_size=2&skip=1")).nextPageToken;
    for (const [query, field] of [
      ["page_size=-1", "page_size"],
      ["skip=-1", "skip"],
      [`skip=${2 ** 31 - 1}&page_token=${later}`, "skip"],
      ["order_by=uid", "order_by"],
    ] as const)
      assertInvalid(await world.raw("GET", `${path}/${group}?${query}`), field);
  });

  it("accepting terms needs a well-formed document id and an existing group", async () => {
    const group = await world.group(world.orgUid);
    for (const documentIds of [[], ["Terms"], [""], ["a b"], ["a/b"], ["a".repeat(65)], Array.from({ length: 26 }, (_, i) => `a${i}`)])
      assertInvalid(await accept(group, documentIds), "document_ids");
    assert.deepEqual((await list(group)).termsAcceptances, []);
    const missing = newUid(world.orgUid);
    assertAbout(await accept(missing, ["a"]), Code.NOT_FOUND, "Group", missing);
    assertAbout(await accept("nonsense", ["a"]), Code.NOT_FOUND, "Group", "nonsense");
  });

  it("accepted terms are deleted with their group", async () => {
    const group = await world.group(world.orgUid);
    await accept(group, ["a"]);
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${group}`)).status, 200);
    assert.deepEqual(await world.store.reader.selectFrom("terms_acceptance").selectAll().where("org_uid", "=", group).execute(), []);
  });
});

const HOLT_REQUIRED_TERMS = "tos.v1=https://example.com/tos Terms of service, dpa.v1";
const REQUIRED = [
  { id: "tos.v1", label: "Terms of service", url: "https://example.com/tos" },
  { id: "dpa.v1", label: "dpa.v1", url: "" },
];

describeWithWorld(
  "terms that the operator requires",
  (world) => {
    const organization = async () => (await world.must(GroupsService.method.createGroup, { group: { name: "org" } })).uid;
    const makeRepo = (group: string, token?: string) => world.raw("POST", `/registry/v2/repos/${group}`, { name: `repo${++made}` }, token);
    const accept = (group: string, ...documentIds: string[]) => world.must(TermsService.method.acceptTerms, { group, documentIds });
    let made = 0;

    it("missing terms block all writes in an organization, and the error names them", async () => {
      const group = await organization();
      const folder = await world.group(group);
      const missing = async () => {
        const { details } = assertRefused(await makeRepo(folder), Code.FAILED_PRECONDITION);
        assert.deepEqual(details[1]?.violations, [{ type: "TERMS_NOT_ACCEPTED", description: "terms not accepted" }]);
        const detail = details.find((each) => each["@type"].endsWith("/platform.iam.v2.TermsNotAcceptedDetail"));
        return (detail as unknown as { missing: JsonObject[] }).missing;
      };
      const [tos, dpa] = REQUIRED;
      assert.deepEqual(await missing(), [tos, { id: dpa?.id, label: dpa?.label }]);
      await accept(group, "dpa.v1", "other.v1");
      assert.deepEqual(await missing(), [tos]);
      const overGrpc = await world.grpc.call(ReposService.method.createRepo, { parent: folder, repo: { name: "x" } }, world.owner.token);
      const { code, details: detailsOverGrpc } = errorOf(overGrpc);
      assert.equal(code, Code.FAILED_PRECONDITION);
      assert.ok(JSON.stringify(detailsOverGrpc).includes("platform.iam.v2.TermsNotAcceptedDetail"));
      await accept(group, "tos.v1");
      assert.equal((await makeRepo(folder)).status, 200);
      assert.equal((await makeRepo(group)).status, 200);
      // Acceptance in one organization does not count in another.
      assertRefused(await makeRepo(await organization()), Code.FAILED_PRECONDITION);
    });

    it("terms accepted for a folder count there and below", async () => {
      const group = await organization();
      const folder = await world.group(group);
      await accept(folder, "tos.v1", "dpa.v1");
      assert.equal((await makeRepo(await world.group(folder))).status, 200);
      assertRefused(await makeRepo(group), Code.FAILED_PRECONDITION);
    });

    it("missing terms do not block reading or the administration of access", async () => {
      const group = await organization();
      const robot = await world.robot(group, [Capability.CAP_REPO_LIST]);
      for (const uri of ["/registry/v2/repos", `/iam/v2/groups/${group}`]) assert.equal((await world.raw("GET", uri)).status, 200);
      assert.equal((await world.raw("GET", "/registry/v2/repos", undefined, robot.token)).status, 200);
      assert.equal((await world.raw("DELETE", `/iam/v2/identities/${robot.uid}`)).status, 200);
    });

    it("a caller without write access gets no error about missing terms", async () => {
      const group = await organization();
      const stranger = await world.user();
      assertRefused(await makeRepo(group, stranger.token), Code.PERMISSION_DENIED);
    });

    it("missing terms block pushes, too", async () => {
      const name = `${world.orgUid}/pushed`;
      using client = createRegistryClient(world.baseUrl, `Bearer ${world.owner.token}`);
      const refused = await client.send("POST", `${name}/blobs/uploads/`);
      assert.deepEqual([refused.status, refused.code], [403, "DENIED"]);
      assert.match(refused.body.toString(), /terms not accepted: tos\.v1, dpa\.v1/);
      const stranger = await world.user();
      using other = createRegistryClient(world.baseUrl, `Bearer ${stranger.token}`);
      assert.ok(!(await other.send("POST", `${name}/blobs/uploads/`)).body.toString().includes("terms"));
      await accept(world.orgUid, "tos.v1", "dpa.v1");
      await client.image(name, "latest");
      assert.equal((await client.send("GET", `${name}/manifests/latest`)).status, 200);
    });
  },
  { env: { HOLT_REQUIRED_TERMS } },
);

for (const [vendor, root] of [
  ["", "platform"],
  ["chainguard", "chainguard.platform"],
] as const)
  it(`missing terms over REST have the type of the version that was called, in the names of ${root}`, async () => {
    await using world = await startWorld({ env: { HOLT_REQUIRED_TERMS, HOLT_VENDOR_PROFILE: vendor } });
    const typesOf = (text: string) => text.match(/[a-z.]*platform\.iam\.[a-z0-9.]*TermsNotAcceptedDetail/g);
    for (const version of ["v2", "v2beta1"]) {
      const type = `${root}.iam.${version}.TermsNotAcceptedDetail`;
      const { text } = await world.raw("POST", `/registry/${version}/repos/${world.orgUid}`, { name: "repo" });
      assert.deepEqual(typesOf(text), [type]);
    }
  });
