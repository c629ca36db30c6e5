/**
 * Measures how fast open vulnerabilities follow changes, in a database of its own on SQLite: fills images and advisories,
 * compares all of them, then imports one advisory of a package that all images have, and pushes one image.
 * `npx node bench/advisories/matching.ts [IMAGES] [ADVISORIES]`
 */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { createPublication } from "../../packages/server/src/advisories/documents/publication.ts";
import { startMatching } from "../../packages/server/src/advisories/findings/matching-worker.ts";
import { insertRequests } from "../../packages/server/src/advisories/storage/match-requests.ts";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { repos } from "../../packages/server/src/registry/resources.ts";
import { bootstrapDatabase, insertAll, openSink, type Sink } from "../data/fill.ts";
import { type Row, rowOf, timesOf } from "../data/rows.ts";

const [images = 10_000, advisories = 500_000] = process.argv.slice(2).map(Number);
const PACKAGES_PER_IMAGE = 100;
const NAMES = 20_000;
/** Names that images take their packages from. */
const COMMON_NAMES = 2000;
const REVISIONS = 10;
const TIME = new Date("2026-01-01T00:00:00.000Z");
const CRITICAL = '[{"type":"TYPE_CVSS_V3","score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}]';

const random = (n: number) => Math.floor(n * Math.random());
const digestOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;
const packageRow = (digest: string, name: string, version: string) => ({
  ...{ digest, type: "apk", name, version, architecture: "x86_64", origin: name },
  ...{ location: "lib/apk/db/installed", source: "image", purl: "" },
});

function advisoryRow(parent: string, number: number, name: string): Row {
  const time = TIME.toISOString();
  const uid = newUid(parent);
  const advisoryId = `CVE-2026-${number}`;
  const artifact = {
    artifactName: name,
    artifactType: "apk",
    artifactArchitecture: "",
    componentName: "",
    componentType: "",
    componentLocation: "",
  };
  const event = {
    uid: newUid(uid),
    createTime: time,
    reviewState: "REVIEW_STATE_APPROVED",
    fixed: { fixedVersion: `1.2.3-r${random(REVISIONS)}` },
  };
  const body = { uid, advisoryId, createTime: time, updateTime: time, ...artifact, aliases: [], events: [event], severities: [] };
  return {
    ...{
      uid,
      parent,
      name: "",
      create_time: time,
      update_time: time,
      delete_time: null,
      about: `${advisoryId} ${name}`,
      advisory_id: advisoryId,
    },
    ...{
      legacy_advisory_id: null,
      artifact_name: name,
      artifact_type: "apk",
      artifact_architecture: "",
      component_name: "",
      component_type: "",
    },
    ...{ component_location: "", first_alias: "", latest_type: 3, event_types: 8, review_states: 4, authors: "", reviewers: "" },
    ...{ resolutions: "", other_events: "", body: JSON.stringify(body) },
  } as Row;
}

async function fill(sink: Sink, organization: string): Promise<string> {
  const repo = newUid(organization);
  await insertAll(sink, "repo", [rowOf(repos, create(RepoSchema, { uid: repo, name: "app", ...timesOf(TIME) }), TIME)]);
  for (let done = 0; done < advisories; done += 10_000) {
    const rows = Array.from({ length: Math.min(10_000, advisories - done) }, (_, i) =>
      advisoryRow(organization, done + i, `package-${random(NAMES)}`),
    );
    await insertAll(sink, "advisory", rows);
    await insertAll(
      sink,
      "advisory_term",
      rows.map(({ uid, artifact_name }) => ({ term: artifact_name ?? "", advisory_uid: uid ?? "" })),
    );
  }
  for (let number = 0; number < images; number++) {
    const digest = digestOf(`image ${number}`);
    const names = new Set(Array.from({ length: PACKAGES_PER_IMAGE - 1 }, () => `package-${random(COMMON_NAMES)}`));
    await insertAll(sink, "image_scan", [
      { digest, state: "done", attempts: 0, distribution: "wolfi", error: "", package_count: names.size + 1 },
    ]);
    await insertAll(sink, "image_package", [
      packageRow(digest, "everywhere", "1.2.3-r1"),
      ...[...names].map((name) => packageRow(digest, name, `1.2.3-r${random(REVISIONS)}`)),
    ]);
    await insertAll(sink, "manifest", [manifestRow(repo, digest)]);
  }
  return repo;
}

function manifestRow(repo_uid: string, digest: string): Row {
  const times = { create_time: TIME.toISOString(), touch_time: TIME.toISOString() };
  return {
    repo_uid,
    digest,
    media_type: "",
    artifact_type: null,
    subject: null,
    size: 0,
    ...times,
    annotations: null,
    content: Buffer.from("{}"),
  };
}

/** Seconds until no request waits, and of CPU of this process. */
async function settle(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 50));
  const { user, system } = process.cpuUsage(cpu);
  console.log(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s, ${((user + system) / 1_000_000).toFixed(1)} s of CPU`);
}

const dataDir = await mkdtemp(join(tmpdir(), "holt-matching-"));
const target = { url: "", dataDir };
const organization = await bootstrapDatabase(target);
const sink = await openSink(target);
const repo = await fill(sink, organization);
await sink.finish();
const log = createLog("warn");
await using store = await openDatabase({ ...target, log });
const isIdle = async () => (await store.reader.selectFrom("match_request").select("name").limit(1).execute()).length === 0;
const all = Array.from({ length: images }, (_, number) => ({
  org_uid: organization,
  kind: "image" as const,
  name: digestOf(`image ${number}`),
}));
for (let start = 0; start < all.length; start += 1000) await store.transaction((db) => insertRequests(db, all.slice(start, start + 1000)));
{
  const names = { profile: { eventPrefix: "dev.holt" } as never, baseUrl: "", subjects: {}, onAppend: () => {} };
  await using _ = startMatching({ store, clock: systemClock, log, publication: createPublication({ organizations: "first" }), names });
  console.log(`${images} images, ${advisories} advisories`);
  await settle("all images", isIdle);
  const findings = async () =>
    Number(
      (
        await store.reader
          .selectFrom("finding")
          .select(({ fn }) => fn.countAll().as("n"))
          .executeTakeFirstOrThrow()
      ).n,
    );
  console.log(
    `${await findings()} findings in ${
      (
        await store.reader
          .selectFrom("matched_package")
          .select(({ fn }) => fn.countAll().as("n"))
          .executeTakeFirstOrThrow()
      ).n
    } packages`,
  );

  await store.transaction(async (db) => {
    const row = advisoryRow(organization, advisories + 1, "everywhere");
    const body = String(row.body).replace(/1\.2\.3-r\d+/, "1.2.3-r9");
    await db
      .insertInto("advisory")
      .values({ ...row, body } as never)
      .execute();
    await db
      .insertInto("advisory_term")
      .values({ term: "everywhere", advisory_uid: String(row.uid) })
      .execute();
    await db
      .insertInto("vulnerability")
      .values({ id: `CVE-2026-${advisories + 1}`, update_time: "", modified_time: "", severities: CRITICAL, body: "{}" })
      .execute();
    await insertRequests(db, [{ org_uid: organization, kind: "advisory", name: "apk everywhere" }]);
  });
  const before = await findings();
  await settle("a critical advisory of a package in all images, until reports show it", async () => (await findings()) > before);
  await settle("the same, until all images are looked at for events", isIdle);

  const digest = digestOf("another image");
  await store.transaction(async (db) => {
    await db
      .insertInto("image_scan")
      .values({
        digest,
        state: "done",
        attempts: 0,
        lease_holder: null,
        lease_time: null,
        read_time: null,
        distribution: "wolfi",
        error: "",
        package_count: 100,
      })
      .execute();
    const rows = Array.from({ length: 100 }, (_, i) => packageRow(digest, `package-${i}`, `1.2.3-r${REVISIONS + i}`));
    await db.insertInto("image_package").values(rows).execute();
    await db
      .insertInto("manifest")
      .values(manifestRow(repo, digest) as never)
      .execute();
    await insertRequests(db, [{ org_uid: organization, kind: "image", name: digest }]);
  });
  await settle("an image with 100 new versions", isIdle);
}
await rm(dataDir, { recursive: true });
