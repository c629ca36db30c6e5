/** Repeated and concurrent imports, imports next to changes through the API, and round trips. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { toJson } from "@bufbuild/protobuf";
import { Advisories, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService, AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { CSAF, OPENVEX, osv, SECDB, WOLFI } from "../../harness/advisories/import-samples.ts";
import { advisoriesOf, importFile, importJson, summaryOf } from "../../harness/advisories/import-world.ts";
import { builtInRole } from "../../harness/iam/iam.ts";
import fc from "../../harness/property.ts";
import { giveTime } from "../../harness/wait.ts";
import { describeWithWorld, type World } from "../../harness/world.ts";

const ALL = [osv(), OPENVEX, CSAF, SECDB].map((document) => JSON.stringify(document)).join("\n");
const NOTHING_NEW = { created: 0, updated: 0, problems: [] };

describeWithWorld("repeated imports", (world) => {
  before(async () => {
    await world.bind(world.owner.uid, await builtInRole(world, "advisories.admin"), world.orgUid);
  });

  test("importing the same files again changes nothing, not even a time", async () => {
    const parent = await world.group(world.orgUid);
    await importFile(world, "lines", ALL, { parent });
    await importFile(world, "wolfi", WOLFI, { parent });
    const before = await rowsOf(world, parent);
    // Less than the lifetime of the test's token.
    world.clock.advance(1_800_000);
    for (const content of [ALL, WOLFI]) {
      const { read, unchanged, ...rest } = await importFile(world, "again", content, { parent });
      assert.deepEqual([unchanged, rest], [read, { ...NOTHING_NEW, ignored: 0 }]);
    }
    assert.deepEqual(await rowsOf(world, parent), before);
    const vulnerability = osv({ id: "KNOWN-1" });
    await importJson(world, vulnerability, { kind: "vulnerabilities" });
    const { unchanged } = await importJson(world, vulnerability, { kind: "vulnerabilities" });
    assert.equal(unchanged, 1);
  });

  test("a new event in a known file is added at its own time", async () => {
    const parent = await world.group(world.orgUid);
    await importFile(world, "a.yaml", WOLFI, { parent });
    const event = "      - {timestamp: 2026-01-02T12:00:00Z, type: pending-upstream-fix, data: {note: late}}\n";
    const more = WOLFI.replace("      - GHSA-aaaa-bbbb-cccc\n", "      - GHSA-new0-new0-new0\n").replace(
      "    events:\n",
      `    events:\n${event}`,
    );
    const { updated, unchanged } = await importFile(world, "a.yaml", more, { parent });
    assert.deepEqual([updated, unchanged], [1, 1]);
    const { advisories } = await advisoriesOf(world, parent);
    const summary = advisories.map(summaryOf).find(({ about }) => about.includes("4444"));
    assert.deepEqual(summary?.aliases, ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc", "GHSA-new0-new0-new0"]);
    assert.deepEqual(
      summary?.events.map(([kind, , note]) => `${kind} ${note}`),
      ["detection ", "pendingUpstreamFix late", "truePositiveDetermination it is so", "fixed "],
    );
    assert.equal((await found(world, parent, { aliases: ["GHSA-new0-new0-new0"] })).length, 1);
    assert.equal((await found(world, parent, { query: "W0-NEW" })).length, 1);
  });

  test("decisions of reviewers survive a repeated import", async () => {
    const parent = await world.group(world.orgUid);
    await importFile(world, "a.yaml", WOLFI, { parent, approves: false });
    const { advisories } = await advisoriesOf(world, parent);
    const events = advisories.flatMap((advisory) => advisory.events);
    assert.ok(events.every(({ reviewState }) => reviewState === ReviewStatus.PENDING));
    const { updateAdvisoryEvent, listAdvisoryEvents, delete: remove } = Advisories.method;
    const [first, second] = advisories;
    const { items } = await world.must(listAdvisoryEvents, { parentId: first?.uid ?? "" });
    const rejected = items[0]?.id ?? "";
    await world.must(updateAdvisoryEvent, { id: rejected, status: ReviewStatus.REJECTED });
    await world.must(remove, { id: second?.uid ?? "" });
    const { updated } = await importFile(world, "a.yaml", WOLFI, { parent, approves: true });
    assert.equal(updated, 0);
    const after = await world.must(listAdvisoryEvents, { parentId: first?.uid ?? "" });
    assert.deepEqual([after.items.length, after.items.find(({ id }) => id === rejected)?.status], [items.length, ReviewStatus.REJECTED]);
    assert.equal((await advisoriesOf(world, parent)).total, 1);
  });

  test("a withdrawn record deletes its advisory only if the import may delete", async () => {
    const parent = await world.group(world.orgUid);
    await importJson(world, osv({ id: "W-1" }), { parent });
    const { total } = await advisoriesOf(world, parent);
    const withdrawn = [osv({ id: "W-1", withdrawn: "2026-02-01T00:00:00Z" }), osv({ id: "W-2", withdrawn: "2026-02-01T00:00:00Z" })];
    const refused = await importJson(world, withdrawn, { parent, mayDelete: false });
    assert.deepEqual([refused.read, refused.created, refused.updated], [0, 0, 0]);
    for (const { reason } of refused.problems) assert.match(reason, /may not delete/);
    assert.deepEqual([...new Set(refused.problems.map(({ position }) => position))], ["/0", "/1"]);
    assert.equal((await advisoriesOf(world, parent)).total, total);
    const { problems } = await importJson(world, withdrawn, { parent });
    assert.deepEqual([problems, (await advisoriesOf(world, parent)).total], [[], 0]);
    // An advisory that is already deleted needs no permission.
    assert.deepEqual((await importJson(world, withdrawn, { parent, mayDelete: false })).problems, []);
  });

  test("an import that may not approve adds no alias to an approved advisory", async () => {
    const parent = await world.group(world.orgUid);
    const named = (...aliases: string[]) => osv({ id: "N-1", aliases });
    const names = async () => [...new Set((await advisoriesOf(world, parent)).advisories.flatMap(({ aliases }) => aliases))];
    await importJson(world, named("CVE-2026-1"), { parent, approves: false });
    await importJson(world, named("CVE-2026-1", "CVE-2026-2"), { parent, approves: false });
    const before = await names();
    assert.ok(before.includes("CVE-2026-2"));
    const other = await world.group(world.orgUid);
    await importJson(world, named("CVE-2026-1"), { parent: other });
    const { updated } = await importJson(world, named("CVE-2026-1", "CVE-2026-2"), { parent: other, approves: false });
    const { advisories } = await advisoriesOf(world, other);
    assert.deepEqual([updated, advisories.flatMap(({ aliases }) => aliases).includes("CVE-2026-2")], [0, false]);
    await importJson(world, named("CVE-2026-1", "CVE-2026-2"), { parent: other });
    assert.ok((await advisoriesOf(world, other)).advisories.every(({ aliases }) => aliases.includes("CVE-2026-2")));
  });

  test("concurrent imports and API calls lose nothing and keep the counts right", async () => {
    const parent = await world.group(world.orgUid);
    const { create, createAdvisoryEvent } = Advisories.method;
    const records = Array.from({ length: 900 }, (_, i) =>
      osv({ id: `R-${i}`, affected: [{ package: { ecosystem: "npm", name: `p${i % 7}` } }] }),
    );
    const lines = (list: readonly object[]) => list.map((record) => JSON.stringify(record)).join("\n");
    const advisory = { artifactType: "npm", artifactName: "p0", artifactArchitecture: "", advisoryId: "R-0" };
    const existing = await world.must(create, { parentId: parent, advisory });
    let isOver = false;
    const writing = (async () => {
      for (let i = 0; !isOver || i < 5; i++) {
        const type = { case: "fixed", value: { fixedVersion: `9.9.${i}` } } as const;
        await world.must(createAdvisoryEvent, { parentId: existing.id, advisoryEvent: { type } });
        await world.must(create, { parentId: parent, advisory: { ...advisory, advisoryId: `W-${i}` } });
        await giveTime(1);
        if (i > 200) return i + 1;
      }
      return -1;
    })();
    const imports = [lines(records), lines(records.toReversed()), lines(records)];
    const results = await Promise.all(imports.map((content) => importFile(world, "lines", content, { parent })));
    isOver = true;
    await writing;
    assert.deepEqual(
      results.map(({ problems }) => problems),
      [[], [], []],
    );
    assert.equal(
      results.reduce((sum, { created }) => sum + created, 0),
      899,
    );
    const rows = await rowsOf(world, parent);
    const written = rows.filter(({ advisory_id }) => advisory_id.startsWith("W-")).length;
    assert.ok(written >= 5);
    assert.equal(rows.length, 900 + written);
    assert.equal((await advisoriesOf(world, parent)).total, 900 + written);
    const { advisory: merged } = { advisory: await world.must(AdvisoriesService.method.getAdvisory, { uid: existing.id }) };
    assert.equal(merged.events.length, written + 1, "one event per API call and one of the import");
    const { totalCount } = await found(world, parent, { artifactNames: ["p0"] }, true);
    assert.equal(totalCount, BigInt(rows.filter(({ artifact_name }) => artifact_name === "p0").length));
  });

  test("any list of documents is stored unchanged, and importing it again changes nothing", async () => {
    const time = fc.integer({ min: 1_600_000_000, max: 1_760_000_000 }).map((seconds) => new Date(seconds * 1000).toISOString());
    const text = fc.string({ unit: "grapheme", maxLength: 40 });
    const version = fc.stringMatching(/^[0-9]{1,3}(\.[0-9]{1,3}){1,2}-r[0-9]$/);
    const data = fc.oneof(
      fc.record({ type: fc.constant("fixed"), data: fc.record({ "fixed-version": version }) }),
      fc.record({
        type: fc.constantFrom("true-positive-determination", "pending-upstream-fix", "fix-not-planned"),
        data: fc.record({ note: text }),
      }),
      fc.record({
        type: fc.constant("false-positive-determination"),
        data: fc.record({ type: fc.constantFrom("inline-mitigations-exist", "component-vulnerability-mismatch"), note: text }),
      }),
    );
    const event = fc.tuple(time, data).map(([timestamp, rest]) => ({ timestamp, ...rest }));
    const id = fc.stringMatching(/^CGA(-[2-9cfghjmpqrvwx]{4}){3}$/);
    const alias = fc.stringMatching(/^CVE-20[0-9]{2}-[0-9]{4,6}$/);
    const events = fc.uniqueArray(event, { minLength: 1, maxLength: 6, selector: ({ timestamp }) => timestamp });
    const advisory = fc.record({ id, aliases: fc.uniqueArray(alias, { maxLength: 3 }), events });
    const name = fc.stringMatching(/^[a-z0-9][a-z0-9.+-]{0,20}$/);
    const document = fc.record({ name, advisories: fc.uniqueArray(advisory, { minLength: 1, maxLength: 5, selector: ({ id }) => id }) });
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(document, { minLength: 1, maxLength: 4, selector: ({ name }) => name }), async (documents) => {
        const parent = await world.group(world.orgUid);
        const list = documents.map(({ name, advisories }) => ({ "schema-version": "2.0.2", package: { name }, advisories }));
        for (const _ of [1, 2]) {
          const { problems } = await importJson(world, list, { parent });
          assert.deepEqual(problems, []);
          const { advisories } = await advisoriesOf(world, parent);
          const key = (text: { about: string }) => text.about;
          assert.deepEqual(
            advisories.map(summaryOf).sort((a, b) => (key(a) < key(b) ? -1 : 1)),
            documents.flatMap(summariesOf).sort((a, b) => (key(a) < key(b) ? -1 : 1)),
          );
        }
      }),
      { numRuns: 15 },
    );
  });
});

interface Document {
  readonly name: string;
  readonly advisories: readonly {
    readonly id: string;
    readonly aliases: readonly string[];
    readonly events: readonly { readonly timestamp: string; readonly type: string; readonly data: Readonly<Record<string, string>> }[];
  }[];
}

const KINDS: Readonly<Record<string, string>> = {
  fixed: "fixed",
  "true-positive-determination": "truePositiveDetermination",
  "pending-upstream-fix": "pendingUpstreamFix",
  "fix-not-planned": "fixNotPlanned",
  "inline-mitigations-exist": "falsePositiveDetermination:7",
  "component-vulnerability-mismatch": "falsePositiveDetermination:2",
};

/** The summary that import-world.ts makes of stored advisories. */
function summariesOf({ name, advisories }: Document) {
  return advisories.map(({ id, aliases, events }) => ({
    about: `${id} apk/${name}`,
    aliases,
    events: events
      .map(({ timestamp, type, data }) => [KINDS[data.type ?? type], data["fixed-version"] ?? "", data.note ?? "", timestamp])
      .sort(([, , , a = ""], [, , , b = ""]) => (a < b ? -1 : 1)),
  }));
}

function rowsOf(world: World, parent: string) {
  return world.store.reader.selectFrom("advisory").selectAll().where("parent", "=", parent).orderBy("uid").execute();
}

async function found(world: World, parent: string, filter: object): Promise<readonly unknown[]>;
async function found(world: World, parent: string, filter: object, isWhole: true): Promise<{ totalCount?: bigint }>;
async function found(world: World, parent: string, filter: object, isWhole = false): Promise<unknown> {
  const answer = await world.must(AdvisoriesService.method.listAdvisories, { uidp: { childrenOf: parent }, ...filter });
  return isWhole ? answer : answer.advisories.map((advisory) => toJson(AdvisorySchema, advisory));
}
