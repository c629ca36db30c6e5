/** Tests what the background comparison of packages with advisories writes and reads, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createPublication } from "../../src/advisories/documents/publication.ts";
import { alertImages, CRITICAL_EVENT } from "../../src/advisories/findings/alerts.ts";
import { matchImages } from "../../src/advisories/findings/match-images.ts";
import { pruneFindings } from "../../src/advisories/findings/prune.ts";
import { requestEverything } from "../../src/advisories/findings/requests.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import type { WriteDb } from "../../src/db/store.ts";
import { Code, type HoltError, resourceExhausted, unavailable } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import type { EventNames } from "../../src/outbox/outbox.ts";
import { CRITICAL, createFindingsWorld, type FindingsWorld, wolfi } from "../harness/advisories/findings-world.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { describeWithWorld } from "../harness/world.ts";

const IMAGES = 12;

describeWithWorld("comparing packages of images with advisories", (world) => {
  let given: FindingsWorld;
  before(async () => {
    given = await createFindingsWorld(world);
  });
  after(() => given[Symbol.dispose]());
  // The store exists when the tests run.
  const reader = () => world.store.reader;

  const rows = async () => ({
    packages: await reader().selectFrom("matched_package").select(["id", "name"]).where("org_uid", "=", given.org).execute(),
    findings: await reader()
      .selectFrom("finding as f")
      .innerJoin("matched_package as p", "p.id", "f.package_id")
      .select(["f.vulnerability", "p.name", "f.close_time"])
      .where("p.org_uid", "=", given.org)
      .execute(),
  });

  const readLinks = async (images: readonly { readonly id: number }[]) => {
    const links = reader().selectFrom("matched_image_package").selectAll().orderBy("image_id").orderBy("package_id");
    const ids = images.map(({ id }) => id);
    return links.where("image_id", "in", ids).execute();
  };
  /** Copies the manifests to new repos. */
  const addToRepos = async (digests: readonly string[], count: number) => {
    const repo = await reader().selectFrom("repo").selectAll().where("uid", "=", given.repo.uid).executeTakeFirstOrThrow();
    const manifests = await reader().selectFrom("manifest").selectAll().where("digest", "in", digests).execute();
    await world.store.transaction(async (db) => {
      for (let i = 0; i < count; i++) {
        const uid = newUid(given.org);
        await db
          .insertInto("repo")
          .values({ ...repo, uid, name: `copy-${i}` })
          .execute();
        for (const manifest of manifests)
          await db
            .insertInto("manifest")
            .values({ ...manifest, repo_uid: uid })
            .execute();
      }
    });
  };

  test("images share a package, so a change of an advisory writes one finding per version", async () => {
    const digests = [];
    for (let i = 0; i < IMAGES; i++) digests.push(await given.push(["openssl 3.0.1-r0", "musl 1.2.4-r0", `app-${i} 1`]));
    await given.settle();
    assert.equal((await rows()).packages.length, IMAGES + 2);
    await given.importAdvisories([wolfi("CVE-2024-1", "openssl", "3.0.2-r0"), wolfi("CVE-2024-2", "unrelated", "1")]);
    await given.settle();
    const { findings } = await rows();
    assert.deepEqual(
      findings.map(({ vulnerability, name }) => `${vulnerability} ${name}`),
      ["CVE-2024-1 openssl"],
    );
    for (const digest of digests) assert.equal((await given.list(digest)).vulnerabilities.length, 1);
  });

  test("an image that brings no new package compares nothing again", async () => {
    await given.push(["openssl 3.0.1-r0", "musl 1.2.4-r0"]);
    await given.settle();
    const packages = await reader()
      .selectFrom("matched_package")
      .select("id")
      .where("org_uid", "=", given.org)
      .where("is_matched", "=", 0)
      .execute();
    assert.deepEqual(packages, []);
    assert.equal((await rows()).findings.length, 1);
  });

  const contextOf = (write: <T>(work: (db: WriteDb) => Promise<T>) => Promise<T>) => ({
    store: world.store,
    publication: createPublication({ organizations: "none" }),
    now: () => world.clock.now(),
    write,
  });

  test("an image that only another organization has is linked to none of its packages", async () => {
    using other = await createFindingsWorld(world);
    const digest = await other.push(["private 1"]);
    await other.settle();
    const linked = () => reader().selectFrom("matched_image").select("org_uid").where("digest", "=", digest).execute();
    const before = await linked();
    assert.deepEqual(before, [{ org_uid: other.org }]);
    const batch = { orgUid: given.org, kind: "image", requests: [{ name: digest, token: "of the test" }] } as const;
    await matchImages(
      batch,
      contextOf((work) => world.store.transaction(work)),
    );
    assert.deepEqual(await linked(), before);
    assert.equal(
      (await rows()).packages.some(({ name }) => name === "private"),
      false,
    );
  });

  test("many images are linked in one transaction, and their events are emitted in another", async () => {
    const images = await reader().selectFrom("matched_image").select(["id", "digest"]).where("org_uid", "=", given.org).execute();
    assert.equal(images.length, IMAGES + 1);
    const linked = () => readLinks(images);
    const before = await linked();
    let transactions = 0;
    const context = contextOf((work) => {
      transactions++;
      return world.store.transaction(work);
    });
    // These requests are not in the queue, so the server leaves them to the test.
    const requests = images.map(({ digest }) => ({ name: digest, token: "of the test" }));
    await matchImages({ orgUid: given.org, kind: "image", requests }, context);
    assert.equal(transactions, 1);
    assert.deepEqual(await linked(), before);
    await alertImages({ orgUid: given.org, kind: "alert", requests }, context, {} as EventNames);
    assert.equal(transactions, 2);
  });

  test("an image with more packages than a transaction links is linked completely", async () => {
    const packages = Array.from({ length: 5001 }, (_, i) => `many-${i} 1`);
    const digest = await given.push(packages);
    await given.settle();
    const { id } = await reader().selectFrom("matched_image").select("id").where("digest", "=", digest).executeTakeFirstOrThrow();
    assert.equal((await readLinks([{ id }])).length, packages.length);
  });

  test("an image in more repos than a batch holds emits one event per repo", async () => {
    await given.importAdvisories([wolfi("CVE-2024-9", "announced", "2-r0")]);
    const digests = [await given.push(["announced 1-r0"]), await given.push(["announced 1-r0", "another 1"])];
    await given.settle();
    await addToRepos(digests, 260);
    const start = await lastSeq(world);
    await given.score({ "CVE-2024-9": CRITICAL });
    await given.settle();
    const events = (await eventsAfter(world, start)).filter(({ type }) => type.endsWith(CRITICAL_EVENT));
    assert.equal(events.length, 2 * 261);
    assert.equal(new Set(events.map(({ subject }) => subject)).size, 261);
  });

  test("critical vulnerabilities stay announced while their findings cannot be read, or are above the limits", async () => {
    await given.importAdvisories([wolfi("CVE-2024-10", "remembered", "2-r0")]);
    const digest = await given.push(["remembered 1-r0"]);
    await given.settle();
    await given.score({ "CVE-2024-10": CRITICAL });
    await given.settle();
    const readNotices = () =>
      reader()
        .selectFrom("critical_notice as n")
        .innerJoin("matched_image as i", "i.id", "n.image_id")
        .selectAll("n")
        .where("i.digest", "=", digest)
        .execute();
    const notices = await readNotices();
    assert.equal(notices.length, 1);
    const request = { name: digest, token: "of the test" };
    const alertWhile = (failure: HoltError) =>
      alertImages({ orgUid: given.org, kind: "alert", requests: [request] }, failingContext(failure), {} as EventNames);
    const failingContext = (failure: HoltError) => ({
      store: {
        ...world.store,
        reader: createReadHandle(reader().dialect, (query) =>
          query.sql.includes("cross join finding") ? Promise.reject(failure) : reader().getExecutor().executeQuery(query),
        ),
      },
      publication: createPublication({ organizations: "none" }),
      now: () => world.clock.now(),
      // The request is queued in the same transaction, so that the server does not work on it.
      write: <T>(work: (db: WriteDb) => Promise<T>) =>
        world.store.transaction(async (db) => {
          const row = { org_uid: given.org, kind: "alert" as const, ...request };
          await db.insertInto("match_request").values(row).execute();
          const result = await work(db);
          assert.deepEqual(await db.selectFrom("match_request").select("name").where("name", "=", digest).execute(), []);
          return result;
        }),
    });
    await assert.rejects(alertWhile(unavailable("the database fails over")), { code: Code.UNAVAILABLE });
    assert.deepEqual(await readNotices(), notices);
    await alertWhile(resourceExhausted("too many findings"));
    assert.deepEqual(await readNotices(), notices);
  });

  test("a finding that an advisory no longer supports is closed and stays in the history", async () => {
    const digest = await given.push(["closing 1-r0"]);
    await given.importAdvisories([wolfi("CVE-2024-3", "closing", "2-r0")]);
    assert.equal((await given.found(digest)).length, 1);
    await given.importAdvisories([{ ...wolfi("CVE-2024-3", "closing", "2-r0"), withdrawn: "2024-03-01T00:00:00Z" }]);
    assert.deepEqual(await given.found(digest), []);
    const { findings } = await rows();
    assert.ok(findings.find(({ name }) => name === "closing")?.close_time);
  });

  test("all packages are compared again when the rules changed, and only then", async () => {
    const digest = await given.push(["compared 1-r0"]);
    await given.importAdvisories([wolfi("CVE-2024-4", "compared", "2-r0")]);
    assert.equal((await given.found(digest)).length, 1);
    const forget = () =>
      world.store.transaction((db) => {
        const own = db.selectFrom("matched_package").select("id").where("org_uid", "=", given.org);
        return db.deleteFrom("finding").where("package_id", "in", own).execute();
      });
    await forget();
    await requestEverything(world.store, "other rules");
    assert.equal((await given.found(digest)).length, 1);
    await forget();
    await requestEverything(world.store, "other rules");
    assert.equal((await given.found(digest)).length, 0);
  });

  test("packages without images are deleted with their findings, and old findings of the others", async () => {
    await world.store.transaction(async (db) => {
      const gone = await db
        .selectFrom("matched_package")
        .select("id")
        .where("org_uid", "=", given.org)
        .where("name", "=", "openssl")
        .execute();
      for (const { id } of gone) await db.deleteFrom("matched_image_package").where("package_id", "=", id).execute();
    });
    world.clock.advance(401 * 24 * 60 * 60 * 1000);
    await pruneFindings(world);
    const { packages, findings } = await rows();
    assert.equal(
      packages.some(({ name }) => name === "openssl"),
      false,
    );
    assert.equal(
      packages.some(({ name }) => name === "musl"),
      true,
    );
    assert.deepEqual(findings, []);
  });
});
