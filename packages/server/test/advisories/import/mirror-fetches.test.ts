import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { Import_State, ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Code } from "../../../src/lib/errors.ts";
import { entitleOwner } from "../../harness/advisories/entitle-owner.ts";
import { type FeedServer, plain, startFeedServer, status, tagged } from "../../harness/advisories/feed-server.ts";
import { prepareFeeds, waitOf } from "../../harness/advisories/mirror-feeds.ts";
import { advisoriesIn, advisoryYaml, secdbOf, stagedFiles } from "../../harness/advisories/remote-client.ts";
import { codeOf } from "../../harness/clients.ts";
import { startServer } from "../../harness/harness.ts";
import { zipOf } from "../../harness/libraries/python-packages.ts";
import { createMigratedDatabase } from "../../harness/migrated-database.ts";
import { until } from "../../harness/wait.ts";
import { describeWithWorld, startWorld } from "../../harness/world.ts";

const { createAdvisoryMirror, getAdvisoryMirror, runAdvisoryMirror, deleteAdvisoryMirror } = AdvisoryMirrorsService.method;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ADVISORIES = ImportKind.ADVISORIES;

describeWithWorld("fetches of advisory mirrors", (world) => {
  const feeds = prepareFeeds(world);

  it("a mirror fetches its feed after a minute, then at its interval, and imports only changes", async () => {
    const { feed } = feeds;
    const { group } = await feeds.place();
    feed.answer("/tagged.yaml", tagged('"one"', advisoryYaml("openssl")));
    const { uid, identity } = await feeds.make(group, "/tagged.yaml", world.owner.token, 3600n);
    assert.equal(identity, world.owner.uid);
    assert.equal(waitOf(world, await feeds.get(uid)), MINUTE);
    assert.deepEqual(feed.asked("/tagged.yaml"), []);
    world.clock.advance(MINUTE);
    const first = await feeds.settled(uid, () => feed.asked("/tagged.yaml").length === 1);
    assert.deepEqual([first.status?.httpStatus, first.status?.error, Number(first.status?.counts?.created)], [200, "", 1]);
    assert.equal(first.status?.lastSuccessTime?.seconds, first.status?.lastAttemptTime?.seconds);
    assert.equal(waitOf(world, first), HOUR);
    const stored = await world.must(ImportsService.method.getImport, { uid: first.status?.lastImport ?? "" });
    assert.deepEqual([stored.mirror, stored.fileName, stored.state], [uid, "tagged.yaml", Import_State.DONE]);
    assert.deepEqual(
      (await advisoriesIn(world, group)).map(({ artifact_name: name }) => name),
      ["openssl"],
    );

    world.clock.advance(30 * MINUTE);
    const second = await feeds.run(uid);
    const [, asked] = feed.asked("/tagged.yaml");
    assert.deepEqual([asked?.["if-none-match"], asked?.["if-modified-since"]], ['"one"', "Fri, 01 Mar 2024 10:00:00 GMT"]);
    assert.deepEqual([second.status?.httpStatus, second.status?.error, second.status?.lastImport], [304, "", stored.uid]);
    assert.deepEqual(second.status?.counts, first.status?.counts);
    assert.equal(waitOf(world, second), HOUR);

    feed.answer("/tagged.yaml", tagged('"two"', advisoryYaml("zlib")));
    const third = await feeds.run(uid);
    assert.deepEqual([third.status?.httpStatus, Number(third.status?.counts?.created)], [200, 1]);
    assert.notEqual(third.status?.lastImport, stored.uid);
    assert.deepEqual(
      (await advisoriesIn(world, group)).map(({ artifact_name: name }) => name),
      ["openssl", "zlib"],
    );
    // Only the last of those that have ended is kept.
    assert.equal(codeOf(await world.rest.call(ImportsService.method.getImport, { uid: stored.uid }, world.owner.token)), Code.NOT_FOUND);
    const fourth = await feeds.run(uid, world.owner.token, true);
    assert.equal(feed.asked("/tagged.yaml").at(-1)?.["if-none-match"], undefined);
    assert.deepEqual([fourth.status?.httpStatus, Number(fourth.status?.counts?.unchanged)], [200, 1]);
    await until(async () => (await stagedFiles(world)).length === 0);
    await world.must(deleteAdvisoryMirror, { uid });
  });

  it("a full run that is asked for during a fetch fetches the whole feed also if that fetch finds no change", async () => {
    const { feed } = feeds;
    const { group, writer } = await feeds.place();
    const path = "/slow.yaml";
    const answer = tagged('"one"', advisoryYaml("openssl"));
    feed.answer(path, answer);
    const { uid } = await feeds.run((await feeds.make(group, path, writer.token)).uid);
    const held = Promise.withResolvers<void>();
    feed.answer(path, async (response, headers) => {
      feed.answer(path, answer);
      await held.promise;
      answer(response, headers);
    });
    await world.must(runAdvisoryMirror, { uid }, writer.token);
    await until(() => feed.asked(path).length === 2);
    await world.must(runAdvisoryMirror, { uid, full: true }, writer.token);
    held.resolve();
    const whole = await feeds.settled(uid, () => feed.asked(path).length === 3);
    assert.deepEqual(
      feed.asked(path).map((headers) => headers["if-none-match"]),
      [undefined, '"one"', undefined],
    );
    assert.deepEqual([whole.status?.httpStatus, Number(whole.status?.counts?.unchanged)], [200, 1]);
  });

  it("a mirror reads zips and JSON, and imports the same bytes once if the feed has no ETag", async () => {
    const { feed } = feeds;
    const { group, writer } = await feeds.place();
    feed.answer(
      "/all.zip",
      plain(
        zipOf([
          { name: "a.yaml", content: advisoryYaml("a") },
          { name: "b.yaml", content: advisoryYaml("b") },
        ]),
      ),
    );
    feed.answer("/secdb.json", plain(secdbOf(3)));
    const zip = await feeds.run((await feeds.make(group, "/all.zip", writer.token)).uid);
    assert.deepEqual([zip.status?.error, Number(zip.status?.counts?.created)], ["", 2]);
    const json = await feeds.run((await feeds.make(group, "/secdb.json", writer.token)).uid);
    assert.deepEqual([json.status?.error, Number(json.status?.counts?.created)], ["", 3]);
    const again = await feeds.run(json.uid);
    assert.deepEqual([again.status?.httpStatus, again.status?.lastImport], [200, json.status?.lastImport]);
    assert.equal(feed.asked("/secdb.json").length, 2);
  });

  it("a mirror backs off after each failure, honours Retry-After, and waits at most a day", async () => {
    const { feed } = feeds;
    const { group, writer } = await feeds.place();
    feed.answer("/broken", status(500));
    const { uid } = await feeds.make(group, "/broken", writer.token);
    const waits: number[] = [];
    for (let i = 0; i < 12; i++) {
      const mirror = await feeds.run(uid, writer.token);
      assert.deepEqual([mirror.status?.httpStatus, mirror.status?.error], [500, "the feed answered with status 500"]);
      assert.equal(mirror.status?.lastSuccessTime, undefined);
      waits.push(waitOf(world, mirror));
    }
    waits.forEach((wait, i) => {
      const middle = Math.min(24 * HOUR, 5 * MINUTE * 2 ** i);
      assert.ok(wait >= middle * 0.79 && wait <= Math.min(24 * HOUR, middle * 1.21), `${i}: ${wait}`);
    });
    feed.answer("/broken", status(503, { "retry-after": "90000" }));
    assert.equal(waitOf(world, await feeds.run(uid)), 24 * HOUR);
    feed.answer("/broken", plain(advisoryYaml("mended")));
    const well = await feeds.run(uid);
    assert.deepEqual([well.status?.error, Number(well.status?.counts?.created), waitOf(world, well)], ["", 1, 6 * HOUR]);
    feed.answer("/broken", status(429, { "retry-after": "7200" }));
    assert.equal(waitOf(world, await feeds.run(uid)), 2 * HOUR);
    feed.answer("/broken", status(404));
    assert.ok(waitOf(world, await feeds.run(uid)) < HOUR);
  });

  it("a mirror follows redirects, at most five, and connects to allowed addresses only", async () => {
    const { feed } = feeds;
    const { group, writer } = await feeds.place();
    const run = async (path: string) => (await feeds.run((await feeds.make(group, path, writer.token)).uid)).status;
    for (let i = 1; i <= 6; i++) feed.answer(`/hop-${i}`, status(302, { location: i === 6 ? "/end" : `hop-${i + 1}` }));
    feed.answer("/end", plain(advisoryYaml("end")));
    const followed = await run("/hop-2");
    assert.deepEqual([followed?.httpStatus, followed?.error, followed?.counts?.created], [200, "", 1n]);
    const tooMany = await run("/hop-1");
    assert.deepEqual([tooMany?.httpStatus, tooMany?.error], [302, "the feed answered with a redirect (status 302), which is not followed"]);
    feed.answer("/moved", status(302, { location: "http://169.254.169.254/latest/meta-data" }));
    assert.match((await run("/moved"))?.error ?? "", /has no address that this server may connect to/);
    const forbidden = { name: "feed", url: "https://169.254.169.254/latest", kind: ADVISORIES };
    const { uid } = await world.must(createAdvisoryMirror, { parent: group, advisoryMirror: forbidden }, writer.token);
    await world.must(runAdvisoryMirror, { uid }, writer.token);
    await until(async () => (await feeds.get(uid)).status?.error !== "");
    assert.match((await feeds.get(uid)).status?.error ?? "", /has no address that this server may connect to/);
  });

  it("a truncated, empty or unexpectedly encoded feed is reported with the reason", async () => {
    const { feed } = feeds;
    const { group, writer } = await feeds.place();
    const { uid } = await feeds.make(group, "/bad", writer.token);
    const errorFor = async (answer: Parameters<FeedServer["answer"]>[1]) => {
      feed.answer("/bad", answer);
      return (await feeds.run(uid)).status?.error;
    };
    assert.equal(await errorFor(plain("")), "the feed is empty");
    assert.match((await errorFor(plain(gzipSync("{}"), { "content-encoding": "gzip" }))) ?? "", /content encoding/);
    const half = await errorFor((response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("half", () => response.destroy());
    });
    assert.match(half ?? "", /closed the connection/);
    assert.match((await errorFor(status(304))) ?? "", /status 304/);
    await until(async () => (await stagedFiles(world)).length === 0);
  });
});

describeWithWorld(
  "advisory mirrors of feeds that are slow",
  (world) => {
    const feeds = prepareFeeds(world);

    it("a fetch that takes too long is given up and leaves no file", async () => {
      const { feed } = feeds;
      const { group, writer } = await feeds.place();
      feed.answer("/slow", (response) => void response.writeHead(200).write("it begins"));
      const slow = await feeds.run((await feeds.make(group, "/slow", writer.token)).uid);
      assert.equal(slow.status?.error, "the feed did not answer in time");
      await until(async () => (await stagedFiles(world)).length === 0);
    });
  },
  { env: { HOLT_MIRROR_TIMEOUT: "300ms" } },
);

describeWithWorld(
  "advisory mirrors of feeds that are large",
  (world) => {
    const feeds = prepareFeeds(world);

    it("a fetch of too many bytes is given up and leaves no file", async () => {
      const { feed } = feeds;
      const { group, writer } = await feeds.place();
      feed.answer("/large", plain(Buffer.alloc(1001)));
      const large = await feeds.run((await feeds.make(group, "/large", writer.token)).uid);
      assert.match(large.status?.error ?? "", /answered more than 1000 bytes/);
      await until(async () => (await stagedFiles(world)).length === 0);
    });
  },
  { env: { HOLT_IMPORT_MAX_BYTES: "1000" } },
);

describe("advisory mirrors on two servers with one database", () => {
  it("only one of two servers fetches a mirror", async () => {
    const url = await createMigratedDatabase();
    await using feed = await startFeedServer();
    await using world = await startWorld({ env: { HOLT_DATABASE_URL: url } });
    const env = { HOLT_DATABASE_URL: url, HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl };
    await using _other = await startServer({ clock: world.clock, env: { ...env, HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" } });
    await entitleOwner(world, world.orgUid);
    const paths = Array.from({ length: 6 }, (_, i) => `/feed-${i}.yaml`);
    const uids = await Promise.all(
      paths.map(async (path, i) => {
        feed.answer(path, plain(advisoryYaml(`package-${i}`)));
        const advisoryMirror = { name: "feed", url: feed.url + path, kind: ADVISORIES };
        return (await world.must(createAdvisoryMirror, { parent: await world.group(world.orgUid), advisoryMirror })).uid;
      }),
    );
    world.clock.advance(MINUTE);
    for (const uid of uids) await until(async () => Number((await world.must(getAdvisoryMirror, { uid })).status?.counts?.created) === 1);
    assert.deepEqual(
      paths.map((path) => feed.asked(path).length),
      Array(6).fill(1),
    );
  });
});
