/** Tests that the events of pulls are written in batches, and that later events wait for the next batch. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../src/db/store.ts";
import { createLog } from "../../src/lib/log.ts";
import { vendorProfiles } from "../../src/lib/vendor-profile.ts";
import { EventContexts } from "../../src/outbox/event-context.ts";
import { appendPullCounts, appendPulls, appendPushes, type Pull } from "../../src/registry/content/oci-events.ts";
import { PullEvents } from "../../src/registry/content/pull-events.ts";
import { storeNames } from "../harness/harness.ts";
import { createStorageFixture } from "../harness/registry/storage-fixture.ts";
import { until } from "../harness/wait.ts";

/** A database has contexts of its own. */
const newNames = () => ({
  profile: vendorProfiles.get("")!,
  baseUrl: "http://127.0.0.1:8080",
  subjects: {},
  registryHost: "127.0.0.1:8080",
  contexts: new EventContexts(),
  onAppend: () => {},
});
const ALL = { general: "blobs", exceptions: new Map() } as const;

for (const kind of storeNames) {
  test(`endless pulls do not cause endless commits, and all pulls are recorded (${kind})`, async () => {
    await using world = await createStorageFixture(kind);
    const repoUid = await world.newRepo();
    const origin = {
      repository: "my-org/nginx",
      remoteAddress: "127.0.0.1",
      userAgent: "test",
      actor: { subject: "somebody", claimsAt: () => ({}) },
    };
    const pull = { repoUid, type: "manifest", digest: "sha256:0", tag: "1", method: "GET", origin, now: new Date() } as Pull;
    let commits = 0;
    const transaction: Store["transaction"] = (work) => {
      commits++;
      if (commits < 20) pulls.record(pull);
      return world.store.transaction(work);
    };
    const pulls = new PullEvents({
      store: { transaction } as Store,
      names: newNames(),
      log: createLog("error"),
      recordings: ALL,
      onCount() {},
    });
    for (let i = 0; i < 50; i++) pulls.record(pull);
    await pulls.flush();
    assert.equal(commits, 1);
    // Without further pulls, the rest is written by the timer.
    await until(() => commits === 20);
    await pulls[Symbol.asyncDispose]();
    const rows = await world.store.reader.selectFrom("outbox").select("type").where("subject", "=", repoUid).orderBy("seq").execute();
    assert.equal(rows.filter(({ type }) => type.endsWith("registry.pull.v1")).length, 50 + 19);
  });
}

for (const [registryHost, source] of [
  ["127.0.0.1:8080", "//127.0.0.1:8080"],
  ["localhost:8080", "//localhost:8080"],
  ["[::1]", "//[::1]"],
  ["images.example.com", "images.example.com"],
] as const)
  test(`the source of the events of the registry at ${registryHost} is a URI-reference`, async () => {
    await using world = await createStorageFixture("sqlite");
    const repoUid = await world.newRepo();
    const actor = { subject: "somebody", claimsAt: () => ({}) };
    const origin = { repository: "my-org/nginx", remoteAddress: "127.0.0.1", userAgent: "test", actor };
    const pull = { repoUid, type: "manifest", digest: "sha256:0", tag: "1", method: "GET", origin, now: new Date() } as const;
    const count = { repo_uid: repoUid, repository: "my-org/nginx", digest: "sha256:0", tag: "1", method: "GET", count: 1 };
    const hourly = { ...count, identity_uid: "somebody", claims: "{}", hour: new Date().toISOString() };
    const push = { ...pull, repoName: "nginx", mediaType: "text/plain", previousDigest: undefined };
    const all = { ...newNames(), registryHost, now: new Date() };
    await world.store.transaction(async (db) => {
      await appendPulls(db, [pull], all);
      await appendPullCounts(db, [hourly as never], all);
      await appendPushes(db, [push], all);
    });
    const rows = await world.store.reader.selectFrom("outbox").select("source").where("subject", "=", repoUid).execute();
    assert.deepEqual(
      rows.map((row) => row.source),
      [source, source, source],
    );
  });
