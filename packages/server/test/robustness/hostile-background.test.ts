/** Uploads what is read in the background in its largest and slowest forms. Requests run meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { entitleOwner } from "../harness/advisories/entitle-owner.ts";
import { osv } from "../harness/advisories/findings-world.ts";
import { begin, ended } from "../harness/advisories/remote-client.ts";
import { layerOf, RPM } from "../harness/registry/image-content.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { hostileRpmDatabase, rpmDatabases } from "../harness/robustness/hostile-databases.ts";
import { fill, jsonTexts } from "../harness/robustness/hostile-documents.ts";
import { startWorld } from "../harness/world.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

test("reading hostile layers and SBOMs lets other requests run", async () => {
  await using world = await startWorld();
  const group = await world.group(world.orgUid, "hostile");
  using repo: ImageRepo = await createImageRepo(world, world.token, group);
  const layers: Record<string, Record<string, string>> = {
    "os-release": { "etc/os-release": `ID=${" ".repeat(64_000)}x`, "lib/apk/db/installed": "P:a\nV:1\n\n" },
    "a database of apk": { "lib/apk/db/installed": fill(256 * KIB, (i) => `P:p${i}\nV:1\n\n`) },
    "lines of apk": { "lib/apk/db/installed": fill(4 * MIB, "P:\n") },
    "a database of dpkg": { "var/lib/dpkg/status": fill(256 * KIB, (i) => `Package: p${i}\nVersion: 1\nStatus: a  b c\n\n`) },
  };
  for (const [name, files] of Object.entries(layers)) {
    const { digest } = await repo.push([await layerOf(files)]);
    await assertYielding(name, () => repo.read(digest));
  }
  for (const name of rpmDatabases) {
    const { digest } = await repo.push([await layerOf({ [RPM]: await hostileRpmDatabase(name) })]);
    await assertYielding(`an RPM database of ${name}`, () => repo.read(digest));
  }
  const components = (bytes: number) =>
    fill(bytes, (i) => `{"purl":"pkg:npm/p${i}@1"},`, '{"bomFormat":"CycloneDX","components":[', "{}]}");
  for (const [name, textOf] of Object.entries({ ...jsonTexts, components })) {
    const { digest } = await repo.pushArtifact([[textOf(512 * KIB), "application/vnd.cyclonedx+json"]]);
    await assertYielding(`an SBOM of ${name}`, () => repo.read(digest));
  }
});

test("importing advisories with as many and as long aliases as possible lets other requests run", async () => {
  await using world = await startWorld();
  await entitleOwner(world, world.orgUid);
  const group = await world.group(world.orgUid);
  const affected = [{ ecosystem: "npm", name: "x", events: [{ introduced: "0" }] }];
  const records = Array.from({ length: 50 }, (_, i) =>
    osv(`GHSA-${i}`, affected, { aliases: Array.from({ length: 99 }, (_, n) => `${i}-${n}-`.padEnd(128, "x")) }),
  );
  const bytes = JSON.stringify(records);
  const { counts } = await assertYielding("an import", async () => ended(world, await begin(world, group, bytes)));
  assert.deepEqual([counts?.created, counts?.problems], [BigInt(records.length), 0n]);
});
