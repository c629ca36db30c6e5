import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { EndOfLifeService, EndOfLife_State as State } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

/** Tokens outlive the end of the tags. */
const MINUTE_MS = 60 * 1000;
const digest = (character: string) => `sha256:${character.repeat(64)}`;

describeWithWorld("the end of life of tags", (world) => {
  let registry: RegistryClient;
  let group: string;
  let repo: string;
  let tag: string;
  before(() => {
    registry = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
  });
  after(() => registry[Symbol.dispose]());
  beforeEach(async () => {
    group = await world.group(world.orgUid, `eol-${Math.random().toString(36).slice(2)}`);
    repo = (await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "python" } })).uid;
    tag = (await world.must(TagsService.method.createTag, { parent: repo, tag: { name: "3.12", digest: digest("a") } })).uid;
  });

  const inMinutes = (minutes: number) => new Date(world.clock.now().getTime() + minutes * MINUTE_MS).toISOString();
  const set = async (uid: string, fields: JsonObject, query = "") => {
    const answer = await world.raw("PATCH", `/holt/v1/endOfLife/${uid}${query}`, fields);
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  const get = async (path: string) => {
    const answer = await world.raw("GET", path);
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  const list = async (query = "") =>
    (await get(`/registry/v1/eoltags?uidp.childrenOf=${repo}${query}`)).items as (JsonObject & { name: string })[];
  const isDeprecated = async () => {
    const v2 = (await get(`/registry/v2/tags/${tag}`)).deprecated;
    const [listed] = (await get(`/registry/v2/tags?uidp.childrenOf=${repo}`)).tags as JsonObject[];
    const [v1] = (await get(`/registry/v1/tags?id=${tag}`)).items as JsonObject[];
    assert.deepEqual([listed?.deprecated, v1?.deprecated], [v2, v2]);
    return v2;
  };

  it("a tag without a date is active, and a tag that its owner marked is inactive", async () => {
    const unknown = { mainPackageName: "", mainPackageVersion: null, gracePeriodExpiryDate: null };
    const plain = { ...unknown, tagStatus: "TAG_ACTIVE", graceStatus: "GRACE_NOT_ELIGIBLE" };
    const whole = await get(`/registry/v1/eoltags?uidp.childrenOf=${repo}`);
    assert.deepEqual(whole, { items: [{ id: tag, name: "3.12", ...plain }], nextPageToken: "" });
    const fields = { name: "3.12", digest: digest("a"), deprecated: true };
    await world.must(TagsService.method.createTag, { parent: repo, tag: fields });
    assert.deepEqual(await list(), [{ id: tag, name: "3.12", ...plain, tagStatus: "TAG_INACTIVE" }]);
    assert.deepEqual(await get(`/holt/v1/endOfLife/${tag}`), {
      uid: tag,
      mainPackageName: "",
      mainPackageVersion: "",
      lts: false,
      state: "STATE_UNSPECIFIED",
    });
  });

  it("a tag passes from active through its grace period to deprecated", async () => {
    const eolTime = inMinutes(10);
    const end = inMinutes(15);
    const made = await set(tag, {
      eolTime,
      gracePeriod: "300s",
      mainPackageName: "python",
      mainPackageVersion: "3.12",
      releaseTime: "2023-10-02T00:00:00.000Z",
      lts: true,
    });
    assert.deepEqual([made.state, made.endTime], ["STATE_ACTIVE", end]);
    const common = {
      id: tag,
      name: "3.12",
      mainPackageName: "python",
      mainPackageVersion: {
        eolDate: eolTime.slice(0, 10),
        exists: true,
        fips: false,
        legacyLts: "",
        lts: true,
        releaseDate: "2023-10-02",
        version: "3.12",
        eolBroken: false,
        latestVersion: "",
        versionSource: null,
      },
      gracePeriodExpiryDate: end,
    };
    assert.deepEqual(await list(), [{ ...common, tagStatus: "TAG_ACTIVE", graceStatus: "GRACE_ELIGIBLE" }]);
    assert.equal(await isDeprecated(), false);
    world.clock.advance(10 * MINUTE_MS);
    assert.deepEqual(await list(), [{ ...common, tagStatus: "TAG_IN_GRACE", graceStatus: "GRACE_ACTIVE" }]);
    assert.equal(await isDeprecated(), false);
    world.clock.advance(5 * MINUTE_MS);
    assert.deepEqual(await list(), [{ ...common, tagStatus: "TAG_INACTIVE", graceStatus: "GRACE_EXPIRED" }]);
    assert.equal(await isDeprecated(), true);
    assert.equal(answerOf(await world.grpc.call(EndOfLifeService.method.getEndOfLife, { uid: tag }, world.owner.token)).state, State.ENDED);
  });

  it("a tag has the dates of its repo where it sets none", async () => {
    const date = inMinutes(-1);
    assert.equal((await set(repo, { eolTime: date, mainPackageName: "python" })).state, "STATE_ENDED");
    assert.equal(await isDeprecated(), true);
    assert.equal((await set(tag, { eolTime: inMinutes(1), mainPackageVersion: "3.12" })).state, "STATE_ACTIVE");
    assert.equal(await isDeprecated(), false);
    const [shown] = await list();
    assert.equal(shown?.mainPackageName, "python");
    assert.match(JSON.stringify(shown?.mainPackageVersion), /"version":"3.12"/);
    await set(tag, {}, "?updateMask=eol_time");
    assert.equal(await isDeprecated(), true);
  });

  it("the settings of the registry give a grace period of six months", async () => {
    const keeper = await world.robot(world.orgUid, [Capability.CAP_REGISTRY_SETTINGS_UPDATE]);
    const settings = { registryId: group, uniqueTags: false, eolGracePeriod: true };
    answerOf(await world.grpc.call(Registry.method.updateRegistrySettings, settings, keeper.token));
    assert.equal((await set(tag, { eolTime: "2040-08-31T00:00:00.000Z" })).endTime, "2041-02-28T00:00:00.000Z");
    assert.equal((await set(tag, { gracePeriod: "0s" })).endTime, "2040-08-31T00:00:00.000Z");
    assert.deepEqual(
      (await list()).map(({ graceStatus, gracePeriodExpiryDate }) => [graceStatus, gracePeriodExpiryDate]),
      [["GRACE_NOT_ELIGIBLE", null]],
    );
  });

  it("sending back a tag that its date has deprecated is not a mark by hand", async () => {
    await set(tag, { eolTime: inMinutes(-1) });
    const [shown] = (await get(`/registry/v1/tags?id=${tag}`)).items as JsonObject[];
    assert.equal(shown?.deprecated, true);
    const echoed = await world.raw("PUT", `/registry/v1/tags/${tag}`, shown);
    assert.deepEqual(parse(echoed.text), shown);
    const moved = await world.must(TagsService.method.createTag, {
      parent: repo,
      tag: { name: "3.12", digest: digest("b"), deprecated: true },
    });
    assert.equal(moved.deprecated, true);
    await set(tag, { eolTime: inMinutes(1) });
    assert.equal(await isDeprecated(), false);
  });

  it("a push of an ended tag is answered, listed and announced as deprecated", async () => {
    await set(repo, { eolTime: inMinutes(-1) });
    const folder = (await get(`/iam/v2/groups/${group}`)).name;
    await registry.image(`my-org/${textOf(folder)}/python`, "3.12");
    assert.equal(await isDeprecated(), true);
    const event = await world.store.reader
      .selectFrom("outbox")
      .select("data")
      .where("subject", "=", tag)
      .where("type", "like", "%tag.created.v1")
      .orderBy("seq", "desc")
      .executeTakeFirstOrThrow();
    assert.equal(JSON.parse(event.data).body.deprecated, true);
  });

  it("the list of tags with their end of life has pages and filters", async () => {
    for (const name of ["3.11", "3.11-r1", "3.11-20240101", "sha256-abc"])
      await world.must(TagsService.method.createTag, { parent: repo, tag: { name, digest: digest("a") } });
    const names = async (query = "") => (await list(query)).map(({ name }) => name).sort();
    assert.deepEqual(await names(), ["3.11", "3.11-20240101", "3.11-r1", "3.12"]);
    assert.deepEqual(await names("&exclude_dates=true&exclude_epochs=true"), ["3.11", "3.12"]);
    assert.deepEqual(await names("&name=3.11"), ["3.11"]);
    const { listEolTags } = Registry.method;
    const first = await world.must(listEolTags, { uidp: { childrenOf: repo }, pageSize: 3n });
    const second = await world.must(listEolTags, { uidp: { childrenOf: repo }, pageSize: 3n, pageToken: first.nextPageToken });
    assert.deepEqual([first.items.length, second.items.length, second.nextPageToken], [3, 1, ""]);
    const ids = [...first.items, ...second.items].map(({ id }) => id);
    assert.equal(new Set(ids).size, 4);
    assert.equal(codeOf(await world.grpc.call(listEolTags, { pageSize: -1n }, world.owner.token)), Code.INVALID_ARGUMENT);
    const stranger = await world.robot(world.orgUid);
    assert.deepEqual((await world.must(listEolTags, { uidp: { childrenOf: repo } }, stranger.token)).items, []);
  });

  it("an invalid or missing end of life is refused", async () => {
    const update = async (uid: string, fields: JsonObject) => (await world.raw("PATCH", `/holt/v1/endOfLife/${uid}`, fields)).status;
    assert.equal(await update(tag, { gracePeriod: "-1s" }), 400);
    assert.equal(await update(tag, { gracePeriod: "400000000s" }), 400);
    for (const nanos of [-1, 1_000_000_000]) {
      const endOfLife = { uid: tag, gracePeriod: { seconds: 1n, nanos } };
      const outcome = await world.grpc.call(EndOfLifeService.method.updateEndOfLife, { endOfLife }, world.owner.token);
      assert.equal(codeOf(outcome), Code.INVALID_ARGUMENT, `${nanos}`);
    }
    assert.equal(await update(tag, { eolTime: "9999-01-01T00:00:00Z" }), 400);
    assert.equal(await update(tag, { mainPackageName: "a\nb" }), 400);
    assert.equal(await update(group, { mainPackageName: "a" }), 404);
    for (const client of world.clients)
      assert.equal(codeOf(await client.call(EndOfLifeService.method.getEndOfLife, { uid: group }, world.owner.token)), Code.NOT_FOUND);
    await world.raw("DELETE", `/registry/v2/tags/${tag}`);
    assert.equal(await update(tag, { mainPackageName: "a" }), 404);
  });
});
