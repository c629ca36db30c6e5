/** Tests which events pulls have: by setting, by organization, one for each pull or one for each hour. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { PullRecordingsService, PullRecording_Recording as Recording } from "@holt/api/gen/holt/v1/pull_recordings_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { prune } from "../../src/events/delivery/prune.ts";
import { Code } from "../../src/lib/errors.ts";
import { createLog } from "../../src/lib/log.ts";
import { rootOf } from "../../src/lib/uid.ts";
import { vendorProfiles } from "../../src/lib/vendor-profile.ts";
import { EventContexts, eventData } from "../../src/outbox/event-context.ts";
import { PullEvents } from "../../src/registry/content/pull-events.ts";
import { codeOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { createStorageFixture } from "../harness/registry/storage-fixture.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const { getPullRecording, updatePullRecording } = PullRecordingsService.method;
const HOUR_MS = 3_600_000;
/** A database has contexts of its own. */
const newNames = () => ({
  profile: vendorProfiles.get("")!,
  baseUrl: "http://127.0.0.1:8080",
  subjects: {},
  registryHost: "127.0.0.1:8080",
  contexts: new EventContexts(),
  onAppend() {},
});

interface PullEvent {
  readonly type: string;
  readonly repository: string;
  readonly digest: string;
  readonly count?: number;
  readonly when: string;
  readonly tag?: string;
}

async function eventsOf(world: World, kind: string): Promise<(PullEvent & { subject: string })[]> {
  const rows = await world.store.reader
    .selectFrom("outbox")
    .select(eventData().as("data"))
    .where("type", "like", `%registry.${kind}.v1`)
    .orderBy("seq")
    .execute();
  return rows.map(({ data }) => JSON.parse(data)).map(({ actor, body }) => ({ ...body, subject: actor.subject }));
}

/** Pulls the manifest by its tag and its blobs. */
async function pull(client: RegistryClient, name: string): Promise<void> {
  const { body } = await client.send("GET", `${name}/manifests/1`);
  const { config, layers } = JSON.parse(body.toString()) as { config: { digest: string }; layers: { digest: string }[] };
  for (const { digest } of [config, ...layers]) await client.send("GET", `${name}/blobs/${digest}`);
}

for (const store of storeNames) {
  test(`by default a pull has an event for its manifest and none for its blobs (${store})`, async () => {
    await using world = await startWorld({ store });
    using client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    await client.image("my-org/app", "1");
    await pull(client, "my-org/app");
    await pull(client, "my-org/app");
    await until(async () => (await eventsOf(world, "pull")).length >= 2);
    assert.deepEqual(
      (await eventsOf(world, "pull")).map(({ type }) => type),
      ["manifest", "manifest"],
    );
  });

  test(`the events of a client's pulls share their beginning until they expire, and readers get them whole (${store})`, async () => {
    await using world = await startWorld({ store });
    using client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    const { digest } = await client.image("my-org/app", "1");
    for (let pulls = 0; pulls < 5; pulls++) await pull(client, "my-org/app");
    const contexts = async () => (await world.store.reader.selectFrom("event_context").select("key").execute()).length;
    await until(async () => (await eventsOf(world, "pull")).length === 5);
    assert.equal(await contexts(), 1);
    const feed = async () => JSON.parse((await world.raw("GET", `/holt/v1/events/${world.orgUid}?types=registry.pull.v1`)).text).events;
    await until(async () => (await feed()).length === 5);
    const { actor, body } = (await feed())[0].data;
    assert.equal(actor.subject, world.owner.uid);
    assert.deepEqual(Object.keys(body).sort(), [
      ...["digest", "location", "method", "remote_address", "repo_id"],
      ...["repository", "tag", "type", "user_agent", "when"],
    ]);
    assert.deepEqual([body.repository, body.digest, body.tag], ["my-org/app", digest, "1"]);
    const inDays = (days: number) => ({ now: () => new Date(world.clock.now().getTime() + days * 24 * HOUR_MS) });
    const options = { store: world.store, log: createLog("silent"), retentionMs: 24 * HOUR_MS };
    await prune({ ...options, clock: inDays(0.5) });
    assert.deepEqual([(await eventsOf(world, "pull")).length, await contexts()], [5, 1]);
    await prune({ ...options, clock: inDays(3) });
    assert.deepEqual([(await eventsOf(world, "pull")).length, await contexts()], [0, 0]);
  });

  test(`the pulls of an hour have one event for each manifest, identity and method (${store})`, async () => {
    await using world = await startWorld({ store, env: { HOLT_PULL_EVENTS: "hourly" } });
    using client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    const { digest } = await client.image("my-org/app", "1");
    const hour = new Date(Math.floor(world.clock.now().getTime() / HOUR_MS) * HOUR_MS).toISOString();
    for (let pulls = 0; pulls < 3; pulls++) await pull(client, "my-org/app");
    await client.send("HEAD", "my-org/app/manifests/1");
    const counted = async () =>
      (await world.store.reader.selectFrom("pull_count").select("count").execute()).reduce((sum, { count }) => sum + count, 0);
    await until(async () => (await counted()) === 4);
    assert.deepEqual(await eventsOf(world, "pull"), []);
    assert.deepEqual(await eventsOf(world, "pull.hourly"), []);
    const robot = await world.robot(world.orgUid, [Capability.CAP_MANIFEST_LIST, Capability.CAP_REPO_BLOBS_GET]);
    world.clock.advance(HOUR_MS + 60_000);
    using later = createRegistryClient(world.baseUrl, `Bearer ${(await world.signIn(robot.uid)).token}`);
    await pull(later, "my-org/app");
    await until(async () => (await eventsOf(world, "pull.hourly")).length === 2);
    const found = await eventsOf(world, "pull.hourly");
    assert.deepEqual(
      found.map((event) => ({ ...event })).sort((a, b) => (a.count ?? 0) - (b.count ?? 0)),
      [
        ["HEAD", 1],
        ["GET", 3],
      ].map(([method, count]) => ({
        repository: "my-org/app",
        repo_id: (found[0] as unknown as { repo_id: string }).repo_id,
        digest,
        tag: "1",
        method,
        type: "manifest",
        count,
        when: hour.replace("Z", "000"),
        subject: world.owner.uid,
      })),
    );
    assert.equal(await counted(), 1);
  });
}

for (const kind of storeNames)
  test(`an organization can have another recording of pulls than the server (${kind})`, async () => {
    await using world = await createStorageFixture(kind);
    const [quiet, loud] = [await world.newRepo(), await world.newRepo()];
    const recordings = { general: "off", exceptions: new Map([[rootOf(loud), "blobs" as const]]) } as const;
    const pulls = new PullEvents({ store: world.store, names: newNames(), log: createLog("silent"), recordings, onCount() {} });
    const origin = { repository: "my-org/nginx", remoteAddress: "", userAgent: "", actor: { subject: "somebody", claimsAt: () => ({}) } };
    for (const repoUid of [quiet, loud])
      for (const type of ["manifest", "blob"] as const)
        pulls.record({ repoUid, type, digest: "sha256:0", tag: undefined, method: "GET", origin, now: new Date() });
    await pulls[Symbol.asyncDispose]();
    const rows = await world.store.reader.selectFrom("outbox").select("subject").execute();
    assert.deepEqual(
      rows.map(({ subject }) => subject),
      [loud, loud],
    );
  });

for (const store of storeNames)
  test(`an organization records less than the operator allows, and never more (${store})`, async () => {
    await using world = await startWorld({ store, env: { HOLT_PULL_EVENTS: "manifests" } });
    using client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    await client.image("my-org/app", "1");
    await world.group("", "other");
    await client.image("other/app", "1");
    const uid = world.orgUid;
    const update = (recording: Recording, updateMask?: { paths: string[] }) =>
      world.must(updatePullRecording, { pullRecording: { uid, recording }, ...(updateMask && { updateMask }) });
    const counts = async () => {
      const counted = await world.store.reader.selectFrom("pull_count").select("count").execute();
      const events = (await eventsOf(world, "pull")).filter(({ repository }) => repository === "my-org/app");
      return [events.length, counted.reduce((sum, { count }) => sum + count, 0)];
    };
    const first = await world.must(getPullRecording, { uid });
    assert.deepEqual([first.recording, first.effectiveRecording], [Recording.UNSPECIFIED, Recording.MANIFESTS]);
    await update(Recording.HOURLY);
    await pull(client, "my-org/app");
    await until(async () => isDeepStrictEqual(await counts(), [0, 1]));
    await update(Recording.OFF);
    await pull(client, "my-org/app");
    // Pulls are written in order, and the other organization follows the operator.
    await pull(client, "other/app");
    await until(async () => (await eventsOf(world, "pull")).some(({ repository }) => repository === "other/app"));
    const more = await update(Recording.BLOBS);
    assert.deepEqual([more.recording, more.effectiveRecording], [Recording.BLOBS, Recording.MANIFESTS]);
    await pull(client, "my-org/app");
    await until(async () => isDeepStrictEqual(await counts(), [1, 1]));
    const seq = await lastSeq(world);
    const last = await update(Recording.UNSPECIFIED, { paths: ["recording"] });
    assert.deepEqual([last.recording, last.effectiveRecording], [Recording.UNSPECIFIED, Recording.MANIFESTS]);
    await update(Recording.UNSPECIFIED, { paths: ["recording"] });
    assert.deepEqual(
      (await eventsAfter(world, seq)).map(({ type, subject }) => [type.replace(/^.*\.api/, "api"), subject]),
      [["api.holt.pull_recording.updated.v1", uid]],
    );
    const folder = await world.group(uid);
    for (const [bad, code] of [
      [{ uid: folder, recording: Recording.OFF }, Code.INVALID_ARGUMENT],
      [{ uid, recording: 99 as Recording }, Code.INVALID_ARGUMENT],
    ] as const)
      assert.equal(codeOf(await world.grpc.call(updatePullRecording, { pullRecording: bad }, world.token)), code);
    const reader = await world.robot(uid, [Capability.CAP_IAM_GROUPS_LIST]);
    assert.equal(codeOf(await world.rest.call(getPullRecording, { uid }, reader.token)), 0);
    assert.equal(codeOf(await world.rest.call(updatePullRecording, { pullRecording: first }, reader.token)), Code.PERMISSION_DENIED);
  });
