import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { SecurityAdvisory } from "@holt/api/gen/platform/advisory/v1/security_advisories_pb.ts";
import {
  type ResolvedVulnsReport,
  SecurityAdvisoryService,
  Severity_Type,
} from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { timestampFromText } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { parentOf } from "../../src/lib/uid.ts";
import {
  falsePositive,
  fixed,
  type GivenAdvisory,
  type GivenPackage,
  putAdvisories,
  putPackages,
  putVulnerabilities,
} from "../harness/advisories/advisories.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { assertInvalid, assertRefused } from "../harness/refusal.ts";
import { createRegistryClient, INDEX, MANIFEST } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listResolvedVulnsReports } = SecurityAdvisoryService.method;
const NEEDED = [Capability.CAP_APK_LIST, Capability.CAP_REPO_LIST, Capability.CAP_MANIFEST_METADATA_LIST, Capability.CAP_TAG_LIST];
const DAY_MS = 24 * 60 * 60 * 1000;
const PATH = "/advisory/v2/images/resolvedVulns";

describeWithWorld("reports of resolved vulnerabilities", (world) => {
  let org: string;
  let repo: string;
  let name: string;
  let count = 0;
  /** A day of the test by its offset; `day(0)` is the start of the range. */
  let epoch: number;
  beforeEach(async () => {
    name = `app${count++}`;
    org = await world.group("", `org-${name}`);
    repo = (await world.must(ReposService.method.createRepo, { parent: org, repo: { name } })).uid;
    // In the past, since reports leave out the future.
    epoch = (Math.floor(world.clock.now().getTime() / DAY_MS) - 20) * DAY_MS;
  });
  const day = (offset: number, hours = 0) => new Date(epoch + offset * DAY_MS + hours * 3_600_000).toISOString();

  /** Pushes an image with packages, and moves the tags to it. */
  let pushed = 0;
  async function push(packages: readonly GivenPackage[], tags: Readonly<Record<string, string>> = {}): Promise<string> {
    using registry = createRegistryClient(world.baseUrl, `Bearer ${world.owner.token}`);
    const path = `org-${name}/${name}`;
    const { digest } = await registry.image(path, `push-${pushed++}`, { architecture: "amd64", variant: `v${pushed}` });
    await putPackages(world.store, digest, packages);
    for (const [tag, time] of Object.entries(tags)) await move(tag, digest, time);
    return digest;
  }
  /** Writes the tag history directly, so that its times are independent of the test's. */
  const move = (tag: string, digest: string, time: string) =>
    world.store.transaction((db) => db.insertInto("tag_history").values({ repo_uid: repo, tag, digest, time, actor: "" }).execute());
  const advise = (...given: Partial<GivenAdvisory>[]) =>
    putAdvisories(
      world.store,
      given.map((one, index) => ({ parent: org, id: `CGA-${index}`, ...one })),
    );

  interface Asked {
    readonly repo?: string;
    readonly tags?: string[];
    readonly days?: readonly [string, string];
    readonly token?: string;
  }
  async function reports({
    repo = name,
    tags = [],
    days = [day(0), day(5)],
    token = world.owner.token,
  }: Asked = {}): Promise<ResolvedVulnsReport[]> {
    const [startTime, endTime] = days.map(timestampFromText);
    const request = { imageRefs: [{ repo, tags }], startTime: startTime!, endTime: endTime! };
    const answers = [];
    for (const client of [world.rest, world.grpc])
      answers.push(answerOf(await client.call(listResolvedVulnsReports, request, token)).resolvedVulnsReports);
    assert.deepEqual(answers[0], answers[1]);
    return answers[0]!;
  }
  /** Advisory ids by the offset of their day, without empty days. */
  async function resolved(asked: Asked = {}): Promise<Record<number, string[]>> {
    const found = (await reports(asked)).map(
      ({ date, resolvedVulns }) => [Number(date?.seconds) * 1000, resolvedVulns.map(({ id }) => id)] as const,
    );
    return Object.fromEntries(found.filter(([, ids]) => ids.length > 0).map(([time, ids]) => [(time - epoch) / DAY_MS, ids]));
  }

  describe("what resolves an advisory", () => {
    it("there is one report per day, with what was resolved on that day", async () => {
      await push([{ name: "openssl", version: "3.0.1-r0" }], { latest: day(-3) });
      await advise(
        { id: "CGA-b", events: [fixed(day(1, 3), "3.0.1-r0")], aliases: [`CVE-${name}`, `GHSA-${name}`] },
        { id: "CGA-a", events: [falsePositive(day(1, 20))] },
        { id: "CGA-c", events: [fixed(day(2), "3.0.0-r5")] },
        { id: "CGA-later-version", events: [fixed(day(2), "3.0.2-r0")] },
        { id: "CGA-other-package", name: "zlib", events: [fixed(day(2), "1")] },
        { id: "CGA-other-type", type: "deb", events: [fixed(day(2), "1")] },
      );
      const score = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
      await putVulnerabilities(
        world.store,
        [`CVE-${name}`, `GHSA-${name}`].map((id) => ({ id, severities: [{ type: Severity_Type.CVSS_V3, score }] })),
      );
      const path = `${PATH}?imageRefs=${name}&startTime=${day(0)}&endTime=${day(2)}`;
      const unknown = [{ type: "TYPE_UNSPECIFIED", score: "" }];
      const b = { id: "CGA-b", aliases: [`CVE-${name}`, `GHSA-${name}`], cvssSeverities: [{ type: "TYPE_CVSS_V3", score }] };
      const expected = [
        { date: day(0), resolvedVulns: [] },
        { date: day(1), resolvedVulns: [{ id: "CGA-a", aliases: [], cvssSeverities: unknown }, b] },
        { date: day(2), resolvedVulns: [{ id: "CGA-c", aliases: [], cvssSeverities: unknown }] },
      ];
      assert.equal((await world.raw("GET", path)).text, JSON.stringify({ resolvedVulnsReports: expected }));
      const v1 = JSON.parse(
        (await world.raw("GET", `/advisory/v1/images/resolved_vulns?image_refs=${name}&from=${day(0)}&to=${day(2)}`)).text,
      );
      assert.deepEqual(
        v1.items.map(({ date }: { date: string }) => date),
        [day(0), day(1), day(2)],
      );
      assert.deepEqual(v1.items[1].resolvedVulns[1], { ...b, cvssSeverities: [{ type: "CVSS_V3", score }] });
      const request = { imageRefs: [{ repo: name }], from: timestampFromText(day(1)), to: timestampFromText(day(1)) };
      const { items } = answerOf(await world.grpc.call(SecurityAdvisory.method.listResolvedVulnsReports, request, world.owner.token));
      assert.deepEqual(
        items[0]?.resolvedVulns.map(({ id }) => id),
        ["CGA-a", "CGA-b"],
      );
    });

    it("an advisory is resolved on the day on which its image is replaced by one with the fix", async () => {
      await advise(
        { id: "CGA-old", events: [fixed(day(-10), "3.0.2-r0")] },
        { id: "CGA-long-resolved", events: [fixed(day(-10), "3.0.0-r0")] },
        { id: "CGA-said-later", events: [fixed(day(3), "3.0.2-r0")] },
      );
      await push([{ name: "openssl", version: "3.0.1-r0" }], { latest: day(-3) });
      await push([{ name: "openssl", version: "3.0.2-r0" }], { latest: day(1, 23) });
      assert.deepEqual(await resolved(), { 1: ["CGA-old"], 3: ["CGA-said-later"] });
      assert.deepEqual(await resolved({ days: [day(2), day(2)] }), {});
      assert.deepEqual(await resolved({ days: [day(1), day(1)] }), { 1: ["CGA-old"] });
    });

    it("a new version resolves all advisories that are fixed in it, whenever that was recorded", async () => {
      await advise(
        { id: "CGA-a", events: [fixed(day(-10), "2-r0")] },
        { id: "CGA-b", events: [fixed(day(-9), "2-r0")] },
        { id: "CGA-both", events: [fixed(day(-9), "3-r0"), fixed(day(-8), "2-r0")] },
        { id: "CGA-never-affected", events: [falsePositive(day(-9))] },
        { id: "CGA-found-unaffected", events: [falsePositive(day(-9)), fixed(day(-8), "2-r0")] },
        { id: "CGA-on-the-day", events: [fixed(day(2), "2-r0")] },
        { id: "CGA-too-old", events: [fixed(day(-9), "2-r1")] },
      );
      await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      await push([{ name: "openssl", version: "2-r0" }], { latest: day(2) });
      assert.deepEqual(await resolved(), { 2: ["CGA-a", "CGA-b", "CGA-both", "CGA-on-the-day"] });
      // Once with events within the range, and once with the replacement at its end.
      assert.deepEqual(await resolved({ days: [day(-9), day(2)] }), { 2: ["CGA-a", "CGA-b", "CGA-both", "CGA-on-the-day"] });
      assert.deepEqual(await resolved({ days: [day(40), day(41)] }), {});
    });

    it("names and versions may contain any characters", async () => {
      const names = ['quo"ted', "two\nlines", "back\\slash", "ümläut", "\u{1f600}"];
      await advise(
        ...names.map((text, index) => ({ id: `CGA-${index}`, name: text, type: "swift", events: [fixed(day(1), `v ${text}`)] })),
      );
      await push(
        names.map((text) => ({ name: text, version: `v ${text}`, type: "swift" })),
        { latest: day(-3) },
      );
      assert.deepEqual(await resolved(), { 1: names.map((_, index) => `CGA-${index}`) });
    });

    it("an advisory that came back is reported again when it is resolved again", async () => {
      await advise({ events: [fixed(day(-10), "2-r0")] });
      const old = await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      const next = await push([{ name: "openssl", version: "2-r0" }], { latest: day(1) });
      await move("latest", old, day(2));
      await move("latest", next, day(4));
      assert.deepEqual(await resolved(), { 1: ["CGA-0"], 4: ["CGA-0"] });
    });

    it("only the digest at the end of a day counts, not those during the day", async () => {
      await advise({ events: [fixed(day(-10), "2-r0")] });
      const old = await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      await push([{ name: "openssl", version: "2-r0" }], { latest: day(1, 3) });
      await move("latest", old, day(1, 5));
      assert.deepEqual(await resolved(), {});
    });

    it("only resolutions of that day count for a new tag or a new package", async () => {
      await advise(
        { id: "CGA-before", events: [fixed(day(-10), "1-r0")] },
        { id: "CGA-that-day", events: [fixed(day(1, 1), "1-r0")] },
        { id: "CGA-zlib-before", name: "zlib", events: [falsePositive(day(0))] },
        { id: "CGA-zlib-that-day", name: "zlib", events: [falsePositive(day(3, 20))] },
      );
      const packages = [{ name: "openssl", version: "1-r0" }];
      await push(packages, { latest: day(1, 12) });
      await push([...packages, { name: "zlib", version: "1-r0" }], { latest: day(3, 12) });
      assert.deepEqual(await resolved(), { 1: ["CGA-that-day"], 3: ["CGA-zlib-that-day"] });
    });

    it("days are UTC days, independent of the caller's time zone", async () => {
      await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      await advise(
        { id: "CGA-first", events: [fixed(day(1), "1-r0")] },
        { id: "CGA-last", events: [fixed(new Date(Date.parse(day(2)) - 1).toISOString(), "1-r0")] },
      );
      assert.deepEqual(await resolved(), { 1: ["CGA-first", "CGA-last"] });
      const date = (offset: number) => day(offset).slice(0, 10);
      // Both ends are times within the same UTC day.
      const query = `imageRefs=${name}&start_time=${date(0)}T23:00:00-05:00&end_time=${encodeURIComponent(`${date(2)}T01:30:00+02:00`)}`;
      const { resolvedVulnsReports } = JSON.parse((await world.raw("GET", `${PATH}?${query}`)).text);
      assert.deepEqual(
        resolvedVulnsReports.map((one: { date: string; resolvedVulns: unknown[] }) => [one.date, one.resolvedVulns.length]),
        [[day(1), 2]],
      );
    });
  });

  describe("images, versions and packages", () => {
    it("an index is resolved when all its platforms have the fix", async () => {
      using registry = createRegistryClient(world.baseUrl, `Bearer ${world.owner.token}`);
      const path = `org-${name}/${name}`;
      await advise(
        { id: "CGA-all", name: "a", events: [fixed(day(1), "2-r0")] },
        { id: "CGA-one-only", name: "b", events: [fixed(day(1), "2-r0")] },
        { id: "CGA-arm-only", name: "c", events: [fixed(day(1), "2-r0")] },
      );
      const manifests = [];
      for (const [architecture, version] of [
        ["amd64", "2-r0"],
        ["arm64", "1-r0"],
      ] as const) {
        const image = await registry.image(path, undefined, { architecture });
        const packages = [
          { name: "a", version: "2-r0" },
          { name: "b", version },
          ...(architecture === "arm64" ? [{ name: "c", version: "2-r1" }] : []),
        ];
        await putPackages(world.store, image.digest, packages);
        manifests.push({ ...image, platform: { architecture, os: "linux" } });
      }
      const { digest } = await registry.manifest(path, { schemaVersion: 2, mediaType: INDEX, manifests }, "index");
      await move("latest", digest, day(-1));
      const expected = { 1: ["CGA-all", "CGA-arm-only"] };
      assert.deepEqual(await resolved(), expected);
      // The packages of an image are kept after its manifests are deleted.
      await world.store.transaction((db) => db.deleteFrom("manifest").where("repo_uid", "=", repo).execute());
      assert.deepEqual(await resolved(), expected);
    });

    it("reports include SBOMs that are attached to the image in its repo, but not in other repos", async () => {
      using registry = createRegistryClient(world.baseUrl, `Bearer ${world.owner.token}`);
      const digest = await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      await advise({ id: "CGA-sbom", type: "pypi", name: "requests", events: [fixed(day(1), "2.0")] });
      const path = `org-${name}/${name}`;
      const content = (await registry.send("GET", `${path}/manifests/${digest}`)).body;
      const subject = { mediaType: MANIFEST, digest, size: content.length };
      const config = await registry.blob(path, "{}", "application/vnd.oci.empty.v1+json");
      const layers = [await registry.blob(path, `{"sbom":"${name}"}`, "application/spdx+json")];
      const sbom = await registry.manifest(path, {
        schemaVersion: 2,
        mediaType: MANIFEST,
        artifactType: "application/spdx+json",
        config,
        layers,
        subject,
      });
      await putPackages(world.store, sbom.digest, [{ name: "requests", version: "2.1", type: "pypi" }]);
      assert.deepEqual(await resolved(), { 1: ["CGA-sbom"] });
      const elsewhere = (await world.must(ReposService.method.createRepo, { parent: org, repo: { name: `other-${name}` } })).uid;
      await world.store.transaction((db) =>
        db
          .insertInto("tag_history")
          .values({ repo_uid: elsewhere, tag: "latest", digest, time: day(-3), actor: "" })
          .execute(),
      );
      assert.deepEqual(await resolved({ repo: elsewhere }), {});
    });

    it("an advisory applies to all packages that are built from its artifact", async () => {
      await push(
        [
          { name: "libssl3", version: "3.0.1-r0", origin: "openssl" },
          { name: "libcrypto3", version: "3.0.1-r1", origin: "openssl" },
        ],
        { latest: day(-3) },
      );
      await advise(
        { id: "CGA-both", events: [fixed(day(1), "3.0.1-r0")] },
        { id: "CGA-one", events: [fixed(day(1), "3.0.1-r1")] },
        { id: "CGA-lib", name: "libssl3", events: [fixed(day(2), "3.0.1-r0")] },
      );
      assert.deepEqual(await resolved(), { 1: ["CGA-both"], 2: ["CGA-lib"] });
    });

    it("versions are compared by the rules of their ecosystem, and for equality if there are none", async () => {
      await push(
        [
          { name: "a", version: "1.10-r0" },
          { name: "b", version: "2026-final", type: "swift" },
          { name: "c", version: "7", type: "swift" },
        ],
        { latest: day(-3) },
      );
      await advise(
        { id: "CGA-natural", name: "a", events: [fixed(day(1), "1.9-r7")] },
        { id: "CGA-same", name: "b", type: "swift", events: [fixed(day(1), "2026-final")] },
        { id: "CGA-incomparable", name: "c", type: "swift", events: [fixed(day(1), "6")] },
      );
      assert.deepEqual(await resolved(), { 1: ["CGA-natural", "CGA-same"] });
    });
  });

  describe("requested tags", () => {
    it("reports are about the requested tags, `latest` by default, with each advisory once a day", async () => {
      await advise(
        { events: [fixed(day(1), "1-r0")], aliases: [`C-${name}`, `A-${name}`] },
        { id: "CGA-0", name: "zlib", events: [fixed(day(1), "1-r0")], aliases: [`B-${name}`, `A-${name}`] },
      );
      const severity = (score: string) => ({ type: Severity_Type.CVSS_V3, score });
      await putVulnerabilities(world.store, [
        { id: `C-${name}`, severities: [severity("1"), severity("3")] },
        { id: `A-${name}`, severities: [severity("2"), severity("3")] },
      ]);
      await push(
        [
          { name: "openssl", version: "1-r0" },
          { name: "zlib", version: "1-r0" },
        ],
        { "1.0": day(-2), "1": day(-2) },
      );
      assert.deepEqual(await resolved(), {});
      assert.deepEqual(await resolved({ tags: ["nothing", "1.0", "nul\0"] }), { 1: ["CGA-0"] });
      const [, report] = await reports({ tags: ["1.0", "1", "1.0"] });
      assert.deepEqual(
        report?.resolvedVulns.map(({ id, aliases, cvssSeverities }) => [id, aliases, cvssSeverities.map(({ score }) => score)]),
        [["CGA-0", [`A-${name}`, `B-${name}`, `C-${name}`], ["2", "3", "1"]]],
      );
    });

    it("a deleted tag keeps its last digest", async () => {
      await advise({ events: [fixed(day(1), "1-r0")] });
      const digest = await push([{ name: "openssl", version: "1-r0" }]);
      await move("gone", digest, day(-1));
      assert.deepEqual(await resolved({ tags: ["gone"] }), { 1: ["CGA-0"] });
    });
  });

  describe("rights and privacy", () => {
    it("reports leave out unapproved events, deleted advisories and future times", async () => {
      await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      await advise(
        { id: "CGA-pending", events: [fixed(day(1), "1-r0", ReviewStatus.PENDING)] },
        { id: "CGA-rejected", events: [falsePositive(day(1), ReviewStatus.REJECTED)] },
        { id: "CGA-deleted", events: [falsePositive(day(1))], isDeleted: true },
        { id: "CGA-still-there", events: [{ time: day(1), type: { case: "truePositiveDetermination", value: {} } }] },
        { id: "CGA-future", events: [falsePositive(day(60))] },
      );
      assert.deepEqual(await resolved(), {});
      assert.deepEqual(await resolved({ days: [day(59), day(61)] }), {});
    });

    it("reports contain nothing of manifests that the repo does not have, although a tag or an index names them", async () => {
      const other = await world.group("", `other-${name}`);
      await world.must(ReposService.method.createRepo, { parent: other, repo: { name: "private" } });
      using registry = createRegistryClient(world.baseUrl, `Bearer ${world.owner.token}`);
      const foreign = await registry.image(`other-${name}/private`, "latest", { architecture: "amd64" });
      await putPackages(world.store, foreign.digest, [{ name: "openssl", version: "3.0.1-r0" }]);
      await advise({ events: [fixed(day(1), "3.0.1-r0")] });
      await world.must(TagsService.method.createTag, { parent: repo, tag: { name: "latest", digest: foreign.digest } });
      await move("latest", foreign.digest, day(-3));
      assert.deepEqual(await resolved(), {});
      const index = await registry.manifest(`org-${name}/${name}`, { schemaVersion: 2, mediaType: INDEX, manifests: [foreign] }, "index");
      await move("index", index.digest, day(-3));
      assert.deepEqual(await resolved({ tags: ["index"] }), {});
      await push([], { sbom: day(-3) });
      const own = await push([{ name: "zlib", version: "1-r0" }], { sbom: day(-2) });
      const attestation = { name: `${own.replace(":", "-")}.sbom`, digest: foreign.digest };
      await world.must(TagsService.method.createTag, { parent: repo, tag: attestation });
      assert.deepEqual(await resolved({ tags: ["sbom"] }), {});
    });

    it("reports use advisories of the image's organization and of public organizations only", async () => {
      const other = await world.group("", `other-${name}`);
      await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      const events = [fixed(day(1), "1-r0")];
      const folder = await world.group(org);
      await putAdvisories(world.store, [
        { parent: folder, id: "CGA-own", events },
        { parent: world.orgUid, id: "CGA-public", events },
        { parent: other, id: "CGA-private", events },
      ]);
      assert.deepEqual(await resolved(), { 1: ["CGA-own", "CGA-public"] });
      // The private advisories of two organizations in one report are kept apart.
      const theirs = (await world.must(ReposService.method.createRepo, { parent: other, repo: { name: `theirs-${name}` } })).uid;
      const query = `imageRefs=${repo}&imageRefs=${theirs}&startTime=${day(0)}&endTime=${day(2)}`;
      assert.doesNotMatch((await world.raw("GET", `${PATH}?${query}`)).text, /CGA-private/);
      await world.store.transaction((db) => db.deleteFrom("advisory").where("parent", "=", world.orgUid).execute());
    });

    it("reports contain private advisories only if the caller may read them", async () => {
      await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      const events = [fixed(day(1), "1-r0")];
      const [folder, other] = [await world.group(org), await world.group(org)];
      await putAdvisories(world.store, [
        { parent: org, id: "CGA-top", events },
        { parent: await world.group(folder), id: "CGA-below", events },
        { parent: other, id: "CGA-other", events },
        { parent: world.orgUid, id: "CGA-public", events },
      ]);
      const caller = await world.robot(org, NEEDED);
      const asCaller = async () => resolved({ token: caller.token });
      assert.deepEqual(await asCaller(), { 1: ["CGA-public"] });
      const reader = async (group: string) => world.bind(caller.uid, await world.role(group, [Capability.CAP_ADVISORIES_LIST]), group);
      await reader(folder);
      assert.deepEqual(await asCaller(), { 1: ["CGA-below", "CGA-public"] });
      // More groups than one SQL condition holds.
      for (let group = 0; group < 33; group++) await reader(await world.group(org));
      assert.deepEqual(await asCaller(), { 1: ["CGA-below", "CGA-public"] });
      await reader(org);
      assert.deepEqual(await asCaller(), { 1: ["CGA-below", "CGA-other", "CGA-public", "CGA-top"] });
      await world.store.transaction((db) => db.deleteFrom("advisory").where("parent", "=", world.orgUid).execute());
    });

    it("repos are found by name, path and uid, and only if the caller holds all four capabilities", async () => {
      await push([{ name: "openssl", version: "1-r0" }], { latest: day(-3) });
      await advise({ events: [fixed(day(1), "1-r0")] });
      const caller = await world.robot(org, [...NEEDED, Capability.CAP_ADVISORIES_LIST]);
      const host = new URL(world.baseUrl).host;
      for (const repoName of [
        name,
        `org-${name}/${name}`,
        `${org}/${name}`,
        `${org}/${repo.slice(-16)}`,
        repo,
        `${host}/org-${name}/${name}`,
      ])
        assert.deepEqual(await resolved({ repo: repoName, token: caller.token }), { 1: ["CGA-0"] }, repoName);
      const query = `imageRefs=${name}&startTime=${day(0)}&endTime=${day(1)}`;
      for (const repoName of ["nothing", `org-${name}/nothing`, `nobody/${name}`, parentOf(repo), `${repo.slice(0, -1)}g`, "nul%00"])
        assertRefused(await world.raw("GET", `${PATH}?${query.replace(name, repoName)}`, undefined, caller.token), Code.NOT_FOUND);
      for (const missing of NEEDED) {
        const { token } = await world.robot(
          org,
          NEEDED.filter((capability) => capability !== missing),
        );
        for (const repoName of [name, `org-${name}/${name}`, repo])
          assertRefused(await world.raw("GET", `${PATH}?${query.replace(name, repoName)}`, undefined, token), Code.NOT_FOUND);
      }
      const [startTime, endTime] = [timestampFromText(day(0)), timestampFromText(day(1))];
      assert.equal(
        codeOf(await world.grpc.call(listResolvedVulnsReports, { imageRefs: [{ repo }], startTime, endTime }, undefined)),
        Code.UNAUTHENTICATED,
      );
    });
  });

  describe("invalid requests", () => {
    it("an ambiguous name of a repo is refused with a request for its uid", async () => {
      const folder = await world.group(org);
      const { uid } = await world.must(ReposService.method.createRepo, { parent: folder, repo: { name } });
      const query = `startTime=${day(0)}&endTime=${day(1)}`;
      const ambiguous = await world.raw("GET", `${PATH}?imageRefs=${name}&${query}`);
      assertInvalid(ambiguous, "image_refs");
      assert.match(ambiguous.text, /several repos named .*: use the uid/);
      for (const path of ["counts", "counts_cumulative"])
        assertInvalid(await world.raw("GET", `/registry/v1/vuln_reports/${path}?repo=${name}`), "repo");
      assert.equal((await world.raw("GET", `${PATH}?imageRefs=${uid}&${query}`)).status, 200);
      const { token } = await world.robot(folder, NEEDED);
      assert.equal((await world.raw("GET", `${PATH}?imageRefs=${name}&${query}`, undefined, token)).status, 200);
    });

    it("a request is refused without images, with too many images, or with an invalid range of days", async () => {
      const days = `startTime=${day(0)}&endTime=${day(1)}`;
      const ask = (query: string) => world.raw("GET", `${PATH}?${query}`);
      assertInvalid(await ask(days), "image_refs");
      assertInvalid(await world.raw("GET", `/advisory/v1/images/resolved_vulns?from=${day(0)}&to=${day(1)}`), "image_refs");
      assertInvalid(await ask(`${days}&imageRefs=:latest`), "image_refs");
      assertInvalid(await ask(`${days}&image_refs.tags=latest`), "image_refs");
      const tags = Array.from({ length: 101 }, (_, index) => `t${index}`);
      assertInvalid(await ask(`${days}&imageRefs=${name}:${tags.join(",")}`), "image_refs");
      assertInvalid(await ask(`${days}&${tags.map((tag) => `imageRefs=${name}:${tag}`).join("&")}`), "image_refs");
      assert.equal((await ask(`${days}&image_refs.repo=${name}&imageRefs.tags=a&image_refs.tags=b`)).status, 200);
      const one = `imageRefs=${name}`;
      assertInvalid(await ask(`${one}&endTime=${day(1)}`), "start_time");
      assertInvalid(await ask(`${one}&startTime=${day(1)}`), "end_time");
      assertInvalid(await ask(`${one}&startTime=${day(1)}&endTime=${day(0)}`), "start_time");
      assertInvalid(await ask(`${one}&startTime=${day(0)}&endTime=${day(366)}`), "end_time");
      assertInvalid(await ask(`${one}&startTime=today&endTime=${day(0)}`), "start_time");
      assert.equal(JSON.parse((await ask(`${one}&startTime=${day(0)}&endTime=${day(365)}`)).text).resolvedVulnsReports.length, 366);
      const v1 = "/advisory/v1/images/resolved_vulns";
      assertInvalid(await world.raw("GET", `${v1}?${one}&to=${day(1)}`), "from");
      assertInvalid(await world.raw("GET", `${v1}?${one}&from=${day(0)}`), "to");
    });
  });
});
