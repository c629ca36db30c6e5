/** Tests what the background comparison of packages with advisories writes and reads, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pruneFindings } from "../../src/advisories/findings/prune.ts";
import { requestEverything } from "../../src/advisories/findings/requests.ts";
import { createFindingsWorld, type FindingsWorld, osv } from "../harness/advisories/findings-world.ts";
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

  const wolfi = (id: string, name: string, fixed: string) =>
    osv(id, [{ ecosystem: "Wolfi", name, events: [{ introduced: "0" }, { fixed }] }]);
  const rows = async () => ({
    packages: await reader().selectFrom("matched_package").select(["id", "name"]).where("org_uid", "=", given.org).execute(),
    findings: await reader()
      .selectFrom("finding as f")
      .innerJoin("matched_package as p", "p.id", "f.package_id")
      .select(["f.vulnerability", "p.name", "f.close_time"])
      .where("p.org_uid", "=", given.org)
      .execute(),
  });

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
