import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { SecurityAdvisory } from "@holt/api/gen/platform/advisory/v1/security_advisories_pb.ts";
import { type Document, SecurityAdvisoryService } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { createDocuments } from "../../src/advisories/documents/documents.ts";
import { createPublication } from "../../src/advisories/documents/publication.ts";
import { bootstrap } from "../../src/bootstrap.ts";
import { Code } from "../../src/lib/errors.ts";
import {
  type EventType,
  falsePositive,
  fixed,
  type GivenAdvisory,
  type GivenEvent,
  putAdvisories,
} from "../harness/advisories/advisories.ts";
import { answerOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import { assertRefused } from "../harness/refusal.ts";
import { describeWithWorld, startWorld, type World } from "../harness/world.ts";

const { listDocuments } = SecurityAdvisoryService.method;
const DAY = "2026-02-03";
const at = (hour: number) => `${DAY}T0${hour}:00:00.000Z`;

/** Lists documents anonymously over REST and gRPC and both versions, and asserts that the answers are the same. */
async function documentsOf(world: World, request: { id?: string; cves?: string[] }): Promise<Document[]> {
  const { documents } = answerOf(await world.rest.call(listDocuments, request, undefined));
  assert.deepEqual(answerOf(await world.grpc.call(listDocuments, request, undefined)).documents, documents);
  for (const client of [world.rest, world.grpc]) {
    const { items } = answerOf(await client.call(SecurityAdvisory.method.listDocuments, request, undefined));
    const withoutNames = (messages: unknown) =>
      JSON.stringify(messages, (key, value) => (key === "$typeName" ? undefined : typeof value === "bigint" ? String(value) : value));
    assert.equal(withoutNames(items), withoutNames(documents));
  }
  return documents;
}

const idsOf = (documents: readonly Document[]) => documents.map(({ id, advisories }) => [id, advisories.map((advisory) => advisory.id)]);

describeWithWorld("documents", (world) => {
  let namespace: string;
  let cve: string;
  let count = 0;
  beforeEach(async () => {
    count++;
    namespace = await world.group(world.orgUid, "wolfi");
    cve = `CVE-2026-${1000 + count}`;
  });
  /** By default about this test's CVE, in a document of its own. */
  const put = (...given: (Partial<GivenAdvisory> & { events?: readonly GivenEvent[] })[]) =>
    putAdvisories(
      world.store,
      given.map((one, index) => ({
        parent: namespace,
        id: `CGA-${count}-${index}`,
        name: `package${count}`,
        aliases: [cve],
        events: [fixed(at(1), "1")],
        ...one,
      })),
    );

  it("anonymous callers can list documents, which are JSON of the contract", async () => {
    await put({
      id: "CGA-json",
      aliases: [cve, "GHSA-1"],
      events: [
        {
          time: at(1),
          type: {
            case: "detection",
            value: {
              type: { case: "scanv1", value: { scanner: "grype", subpackageName: "sub", componentName: "comp", componentId: "7" } },
            },
          },
        },
        { time: at(2), type: { case: "truePositiveDetermination", value: { note: "yes" } } },
        falsePositive(at(3)),
        fixed(at(4), "1.2.3-r0"),
      ],
    });
    const { text, status, headers } = await world.http("GET", `/advisory/v2/documents?cves=${cve}`, undefined, {});
    assert.deepEqual([status, headers["content-type"]], [200, "application/json"]);
    const scanned = {
      scanner: "grype",
      subpackageName: "sub",
      componentId: "7",
      componentName: "comp",
      componentVersion: "",
      componentType: "",
    };
    const events = [
      {
        timestamp: at(1),
        detection: {
          scanv1: { ...scanned, componentLocation: "", artifactVersion: "", scannerVersion: "", grypeDbBuilt: "", grypeDbChecksum: "" },
        },
      },
      { timestamp: at(2), truePositiveDetermination: { note: "yes" } },
      { timestamp: at(3), falsePositiveDetermination: { type: "TYPE_VULNERABLE_CODE_VERSION_NOT_USED", note: "not used" } },
      { timestamp: at(4), fixed: { fixedVersion: "1.2.3-r0", scannerVersion: "", grypeDbBuilt: "", grypeDbChecksum: "" } },
    ];
    const advisory = { id: "CGA-json", events, aliases: [cve, "GHSA-1"], packageNamespace: "wolfi" };
    assert.equal(text, JSON.stringify({ documents: [{ id: `package${count}`, advisories: [advisory] }] }));
    await documentsOf(world, { cves: [cve] });
    const v1 = JSON.parse((await world.http("GET", `/advisory/v1/documents?cves=${cve}`, undefined, {})).text);
    assert.equal(v1.items[0].advisories[0].events[2].falsePositiveDetermination.type, "FPT_TYPE_VULNERABLE_CODE_VERSION_NOT_USED");
  });

  it("documents contain approved events only, and no advisory without one", async () => {
    const unapproved = [ReviewStatus.UNKNOWN, ReviewStatus.PENDING, ReviewStatus.REQUEST_CHANGES, ReviewStatus.REJECTED];
    await put(
      { id: "CGA-mixed", events: [...unapproved.map((status) => fixed(at(1), `secret-${status}`, status)), fixed(at(2), "2")] },
      { id: "CGA-secret", events: unapproved.map((status) => falsePositive(at(1), status)) },
      { id: "CGA-empty", events: [] },
      { id: "CGA-deleted", isDeleted: true },
    );
    const documents = await documentsOf(world, { cves: [cve] });
    assert.deepEqual(idsOf(documents), [[`package${count}`, ["CGA-mixed"]]]);
    const [only, ...others] = documents[0]?.advisories[0]?.events ?? [];
    assert.deepEqual([only?.data.case, others], ["fixed", []]);
    assert.doesNotMatch((await world.http("GET", `/advisory/v2/documents?cves=${cve}`, undefined, {})).text, /secret/);
  });

  it("documents leave out event types that their contract does not have", async () => {
    const patched: EventType = { case: "patched", value: { patchedVersions: ["1"] } };
    const moved: EventType = { case: "componentLocationChanged", value: { newLocation: "x" } };
    await put(
      { id: "CGA-some", events: [{ time: at(1), type: patched }, { time: at(2), type: moved }, fixed(at(3), "3")] },
      {
        id: "CGA-none",
        events: [
          { time: at(1), type: patched },
          { time: at(2), type: moved },
        ],
      },
    );
    const [document] = await documentsOf(world, { cves: [cve] });
    assert.deepEqual(
      document?.advisories.map(({ id, events }) => [id, events.length]),
      [["CGA-some", 1]],
    );
  });

  it("documents do not contain advisories of private organizations, and cannot be searched by them", async () => {
    const other = await world.group("", `other-${count}`);
    await put({ id: "CGA-private", parent: other, name: "private" }, { id: `CGA-public-${count}` });
    assert.deepEqual(idsOf(await documentsOf(world, { cves: [cve] })), [[`package${count}`, [`CGA-public-${count}`]]]);
    for (const request of [{ cves: ["CGA-private"] }, { id: "private" }]) assert.deepEqual(await documentsOf(world, request), []);
    const all = JSON.stringify(idsOf(await documentsOf(world, {})));
    assert.match(all, new RegExp(`CGA-public-${count}`));
    assert.doesNotMatch(all, /CGA-private/);
  });

  it("documents are found by exact aliases or advisory ids, one of which must match", async () => {
    await put(
      { id: `CGA-a-${count}`, name: `a${count}`, aliases: [`${cve}0`, cve] },
      { id: `CGA-b-${count}`, name: `b${count}`, aliases: [`GHSA-${count}`] },
      { id: `CGA-c-${count}`, name: `c${count}`, aliases: [] },
    );
    const found = async (...cves: string[]) => (await documentsOf(world, { cves })).map(({ id }) => id);
    assert.deepEqual(await found(cve), [`a${count}`]);
    assert.deepEqual(await found(cve, `GHSA-${count}`, "CVE-none"), [`a${count}`, `b${count}`]);
    assert.deepEqual(await found(`CGA-c-${count}`, cve), [`a${count}`, `c${count}`]);
    assert.deepEqual(await found(cve.toLowerCase(), `CVE-2026-${100 + count}`, "%", "nul\0"), []);
    assert.deepEqual(await found("nul\0"), []);
    assert.deepEqual(idsOf(await documentsOf(world, { id: `a${count}`, cves: [cve, `GHSA-${count}`] })), [
      [`a${count}`, [`CGA-a-${count}`]],
    ]);
    assert.deepEqual(await documentsOf(world, { id: `b${count}`, cves: [cve] }), []);
  });

  it("a document is about the origin package according to the organization's images, else about the package itself", async () => {
    const [base, lib, dev, other] = [`base${count}`, `lib${count}`, `dev${count}`, `other${count}`];
    const elsewhere = await world.group("", `elsewhere-${count}`);
    const origin = (org_uid: string, type: string, name: string, of: string) => ({ org_uid, type, name, origin: of });
    await world.store.transaction((db) =>
      db
        .insertInto("package_origin")
        .values([
          origin(world.orgUid, "apk", lib, base),
          origin(world.orgUid, "deb", dev, base),
          origin(world.orgUid, "apk", other, "another"),
          origin(elsewhere, "apk", dev, "nonsense"),
        ])
        .execute(),
    );
    await put({ id: "CGA-3", name: base }, { id: "CGA-1", name: lib }, { id: "CGA-2", name: dev }, { id: "CGA-0", name: other });
    const expected = [
      ["another", ["CGA-0"]],
      [base, ["CGA-1", "CGA-3"]],
      [dev, ["CGA-2"]],
    ];
    assert.deepEqual(idsOf(await documentsOf(world, { cves: [cve] })), expected);
    assert.deepEqual(idsOf(await documentsOf(world, { id: base })), [expected[1]]);
    assert.deepEqual(idsOf(await documentsOf(world, { id: dev })), [expected[2]]);
    assert.deepEqual(await documentsOf(world, { id: lib }), []);
    assert.deepEqual(await documentsOf(world, { id: other }), []);
  });

  it("advisories of one id and namespace are merged across architectures", async () => {
    const chainguard = await world.group(world.orgUid, "chainguard");
    const same = { id: "CGA-same" };
    await put(
      { ...same, architecture: "x86_64", aliases: [cve, "GHSA-x"], events: [fixed(at(1), "1"), fixed(at(4), "4")] },
      {
        ...same,
        architecture: "aarch64",
        aliases: ["GHSA-y", "GHSA-x"],
        events: [fixed(at(1), "1"), fixed(at(2), "2"), fixed(at(3), "3", ReviewStatus.PENDING)],
      },
      { ...same, parent: chainguard, events: [fixed(at(5), "5")] },
    );
    const [document] = await documentsOf(world, { cves: [cve] });
    const seen = document?.advisories.map(({ id, aliases, events, packageNamespace }) => [
      id,
      packageNamespace,
      aliases.toSorted(),
      events.map(({ data }) => data.case === "fixed" && data.value.fixedVersion),
    ]);
    assert.deepEqual(seen, [
      ["CGA-same", "chainguard", [cve], ["5"]],
      ["CGA-same", "wolfi", [cve, "GHSA-x", "GHSA-y"], ["1", "2", "4"]],
    ]);
  });

  it("documents are sorted by id, and so are their advisories", async () => {
    await put({ id: "CGA-z", name: `b${cve}` }, { id: "CGA-b", name: `a${cve}` }, { id: "CGA-a", name: `a${cve}` });
    assert.deepEqual(idsOf(await documentsOf(world, { cves: [cve] })), [
      [`a${cve}`, ["CGA-a", "CGA-b"]],
      [`b${cve}`, ["CGA-z"]],
    ]);
  });

  it("a request with too many CVEs is refused", async () => {
    const query = Array.from({ length: 1001 }, (_, index) => `cves=C${index}`).join("&");
    assertRefused(await world.http("GET", `/advisory/v2/documents?${query}`, undefined, {}), Code.INVALID_ARGUMENT);
  });

  it("a request that would read too many bytes is refused, even if little of it would be published", async () => {
    const uids = await put({ id: "CGA-1" }, { id: "CGA-2" }, { id: "CGA-3" });
    const body = `{"aliases":[],"events":[],"findings":"${"x".repeat(11 * 1024 * 1024)}"}`;
    const fill = (uid: string) =>
      world.store.transaction((db) => db.updateTable("advisory").set({ body }).where("uid", "=", uid).execute());
    const statusOf = async () => (await world.http("GET", `/advisory/v2/documents?cves=${cve}`, undefined, {})).status;
    await fill(uids[0]!);
    await fill(uids[1]!);
    assert.equal(await statusOf(), 200);
    await fill(uids[2]!);
    assert.equal(await statusOf(), 429);
    await world.store.transaction((db) => db.deleteFrom("advisory").where("uid", "in", uids).execute());
  });

  it("reading many documents yields to other requests", async () => {
    await put(...Array.from({ length: 200 }, () => ({})));
    let turns = 0;
    let next = setImmediate(function turn() {
      turns++;
      next = setImmediate(turn);
    });
    await createDocuments(createPublication({ organizations: "all" })).list({ id: "", cves: [cve] }, "", world.store.reader);
    clearImmediate(next);
    assert.ok(turns >= 4, `${turns} turns`);
  });

  it("a request for too many documents is refused with advice", async () => {
    const put = (below: number) =>
      world.store.transaction((db) =>
        db
          .insertInto("advisory_count")
          .values({
            ...{ group_uid: world.orgUid, artifact_type: "", artifact_architecture: "", component_type: "test" },
            latest_type: 3,
            event_types: 8,
            review_states: 4,
            slot: 99,
            below,
            direct: 0,
          })
          .execute(),
      );
    await put(20_001);
    const { status, text } = await world.http("GET", "/advisory/v2/documents", undefined, {});
    assert.equal(status, 429);
    assert.match(JSON.parse(text).message, /too many for one answer: filter by id or cves, or download an organization's feed/);
    await world.store.transaction((db) => db.deleteFrom("advisory_count").where("slot", "=", 99).execute());
    assert.equal((await world.http("GET", "/advisory/v2/documents", undefined, {})).status, 200);
  });
});

describe("public organizations", () => {
  const MISSING = "0123456789".repeat(4);
  for (const store of storeNames) {
    for (const [setting, sees] of [
      ["*", ["CGA-first", "CGA-second"]],
      ["none", []],
      [`${MISSING}`, []],
    ] as const) {
      it(`the setting "${setting}" selects the public organizations on ${store}`, async () => {
        await using world = await startWorld({ store, env: { HOLT_PUBLIC_ADVISORIES: setting } });
        const second = await world.group("", "second");
        const events = [fixed(at(1), "1")];
        await putAdvisories(world.store, [
          { parent: world.orgUid, id: "CGA-first", aliases: ["CVE-1"], events },
          { parent: second, id: "CGA-second", aliases: ["CVE-1"], events },
        ]);
        for (const request of [{}, { cves: ["CVE-1"] }, { id: "openssl" }])
          assert.deepEqual((await documentsOf(world, request)).flatMap(({ advisories }) => advisories.map(({ id }) => id)).sort(), sees);
      });
    }

    it(`by default the first organization is public, even if the installation did not record it, on ${store}`, async () => {
      await using world = await startWorld({ store });
      world.clock.advance(1);
      await world.group("", "second");
      const publication = createPublication({ organizations: "first" });
      assert.deepEqual(await publication.organizations(world.store.reader), [world.orgUid]);
      await world.store.transaction((db) => db.deleteFrom("server_state").where("name", "=", "first_organization").execute());
      assert.deepEqual(await publication.organizations(world.store.reader), []);
      await bootstrap({ store: world.store, orgName: "ignored", issuer: world.baseUrl, now: world.clock.now() });
      assert.deepEqual(await publication.organizations(world.store.reader), [world.orgUid]);
      assert.equal(await publication.isPublic(world.store.reader, await world.group(world.orgUid)), true);
      assert.equal(await publication.isPublic(world.store.reader, await world.group("", "third")), false);
    });

    it(`the setting may name several public organizations by uid on ${store}`, async () => {
      await using world = await startWorld({ store });
      const second = await world.group("", "second");
      const organizations = [second, MISSING, world.orgUid];
      assert.deepEqual(await createPublication({ organizations }).organizations(world.store.reader), [second, world.orgUid].sort());
      assert.deepEqual(await createPublication({ organizations: [second] }).organizations(world.store.reader), [second]);
    });
  }
});
