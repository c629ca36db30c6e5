import assert from "node:assert/strict";
import { it } from "node:test";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Code } from "../../../src/lib/errors.ts";
import { plain } from "../../harness/advisories/feed-server.ts";
import { prepareFeeds } from "../../harness/advisories/mirror-feeds.ts";
import { APPROVER, advisoriesIn, advisoryYaml, begin, ended, secdbOf, WRITER } from "../../harness/advisories/remote-client.ts";
import { codeOf, errorOf } from "../../harness/clients.ts";
import { fieldsOf } from "../../harness/refusal.ts";
import { until } from "../../harness/wait.ts";
import { describeWithWorld } from "../../harness/world.ts";

const { createAdvisoryMirror, updateAdvisoryMirror, runAdvisoryMirror, deleteAdvisoryMirror } = AdvisoryMirrorsService.method;
const ADVISORIES = ImportKind.ADVISORIES;

describeWithWorld("advisory mirrors", (world) => {
  const feeds = prepareFeeds(world);

  it("a mirror acts for the identity that set its URL, with the rights of that moment", async () => {
    const { feed } = feeds;
    const { group, writer: approver } = await feeds.place(APPROVER);
    const writer = await world.robot(group, WRITER);
    const states = async () => (await advisoriesIn(world, group)).map((row) => [row.artifact_name, row.review_state, row.author]);
    feed.answer("/first", plain(advisoryYaml("a")));
    feed.answer("/second", plain(advisoryYaml("b")));
    const { uid, identity } = await feeds.make(group, "/first", approver.token);
    assert.equal(identity, approver.uid);
    await feeds.run(uid, writer.token);
    assert.deepEqual(await states(), [["a", 2, approver.uid]]);
    // Another interval is not another feed.
    const update = (change: object, token: string) => world.must(updateAdvisoryMirror, { advisoryMirror: { uid, ...change } }, token);
    assert.equal((await update({ interval: { seconds: 7200n } }, writer.token)).identity, approver.uid);
    assert.equal((await update({ url: `${feed.url}/second` }, writer.token)).identity, writer.uid);
    await feeds.run(uid, approver.token);
    assert.deepEqual(await states(), [
      ["a", 2, approver.uid],
      ["b", 1, writer.uid],
    ]);
    await world.must(IdentitiesService.method.deleteIdentity, { uid: writer.uid });
    const asked = feed.asked("/second").length;
    await world.must(runAdvisoryMirror, { uid }, approver.token);
    await until(async () => (await feeds.get(uid)).status?.error !== "");
    assert.match((await feeds.get(uid)).status?.error ?? "", /may not import this any more/);
    assert.equal(feed.asked("/second").length, asked);
  });

  it("only the bootstrap owner can mirror vulnerability metadata", async () => {
    const { group, writer } = await feeds.place([...APPROVER, Capability.CAP_ADVISORIES_DELETE]);
    const advisoryMirror = { name: "osv", url: `${feeds.feed.url}/osv.json`, kind: ImportKind.VULNERABILITIES };
    const create = (token: string) => world.rest.call(createAdvisoryMirror, { parent: group, advisoryMirror }, token);
    assert.equal(codeOf(await create(writer.token)), Code.PERMISSION_DENIED);
    const outcome = await create(world.owner.token);
    assert.ok(outcome.ok);
    const { uid } = outcome.value;
    for (const change of [{ name: "x" }, { kind: ADVISORIES }]) {
      const asWriter = await world.rest.call(updateAdvisoryMirror, { advisoryMirror: { uid, ...change } }, writer.token);
      assert.equal(codeOf(asWriter), "kind" in change ? 0 : Code.PERMISSION_DENIED);
    }
  });

  it("a mirror needs a valid URL, kind, name and interval", async () => {
    const { group, writer } = await feeds.place();
    const good = { name: "feed", url: "https://feeds.example.com/all.zip", kind: ADVISORIES, interval: { seconds: 300n } };
    const refusedFields = async (change: object) => {
      const { code, details } = errorOf(
        await world.rest.call(createAdvisoryMirror, { parent: group, advisoryMirror: { ...good, ...change } }, writer.token),
      );
      assert.equal(code, Code.INVALID_ARGUMENT);
      return fieldsOf(details);
    };
    assert.deepEqual(await refusedFields({ name: "NOT A NAME" }), ["name"]);
    for (const url of ["", "ftp://example.com/", "http://10.0.0.1/", "https://user:secret@example.com/", "feed.zip"])
      assert.deepEqual(await refusedFields({ url }), ["url"], url);
    assert.deepEqual(await refusedFields({ kind: 0, interval: { seconds: 299n, nanos: 999_000_000 } }), ["kind", "interval"]);
    assert.deepEqual(await refusedFields({ interval: { seconds: 366n * 86_400n } }), ["interval"]);
    const { interval, ...without } = good;
    const made = await world.must(createAdvisoryMirror, { parent: group, advisoryMirror: without }, writer.token);
    assert.equal(made.interval?.seconds, 21_600n);
  });

  it("a group with a mirror cannot be deleted, and a deleted mirror takes its imports along", async () => {
    const { feed } = feeds;
    const { group } = await feeds.place();
    feed.answer("/kept", plain("nothing that could be imported"));
    const { uid } = await feeds.make(group, "/kept", world.owner.token);
    const ran = await feeds.run(uid);
    assert.ok(Number(ran.status?.counts?.problems) > 0);
    const lastImport = ran.status?.lastImport ?? "";
    await world.must(ImportsService.method.getImport, { uid: lastImport });
    const refused = errorOf(await world.rest.call(GroupsService.method.deleteGroup, { uid: group }, world.owner.token));
    assert.equal(refused.code, Code.FAILED_PRECONDITION);
    await world.must(deleteAdvisoryMirror, { uid });
    assert.equal(codeOf(await world.rest.call(ImportsService.method.getImport, { uid: lastImport }, world.owner.token)), Code.NOT_FOUND);
  });

  it("a mirror continues after its import was deleted and after its server is gone", async () => {
    const { feed } = feeds;
    const { group } = await feeds.place();
    feed.answer("/slow", plain(advisoryYaml("late")));
    const { uid } = await feeds.make(group, "/slow", world.owner.token);
    const busy = await begin(world, await world.group(world.orgUid), secdbOf(4000));
    await world.must(runAdvisoryMirror, { uid });
    await until(async () => (await feeds.get(uid)).status?.lastImport !== "");
    const waiting = await feeds.get(uid);
    assert.equal(waiting.status?.nextTime, undefined);
    await world.must(ImportsService.method.deleteImport, { uid: waiting.status?.lastImport ?? "" });
    assert.equal((await feeds.get(uid)).status?.error, "its import was deleted");
    await ended(world, busy);
    const claim = { file: "0123", lease_time: new Date(world.clock.now().getTime() + 30_000).toISOString() };
    const due = { next_time: world.clock.now().toISOString() };
    await world.store.transaction((db) =>
      db
        .updateTable("advisory_mirror_run")
        .set({ ...claim, ...due })
        .where("mirror_uid", "=", uid)
        .execute(),
    );
    world.clock.advance(31_000);
    await until(async () => feed.asked("/slow").length === 2);
    const well = await feeds.settled(uid, () => true);
    assert.deepEqual([well.status?.error, Number(well.status?.counts?.created)], ["", 1]);
  });
});
