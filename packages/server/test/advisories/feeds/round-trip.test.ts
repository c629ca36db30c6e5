/** Tests that an import of a feed results in the same feed. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, it } from "node:test";
import { importRecords } from "../../../src/advisories/import/import.ts";
import {
  allowWriting,
  confirmed,
  detected,
  fixedIn,
  type GivenEvent,
  get,
  getJson,
  later,
  put,
  refuted,
} from "../../harness/advisories/feed-client.ts";
import { reader } from "../../harness/advisories/import-world.ts";
import { describeWithWorld } from "../../harness/world.ts";

interface Statement {
  readonly vulnerability: { readonly name: string };
  readonly products: readonly { readonly "@id": string }[];
  readonly status: string;
}

describeWithWorld("feeds that are imported", (world) => {
  let group: string;
  let id: string;
  let count = 0;
  before(async () => {
    await allowWriting(world);
    group = await world.group(world.orgUid, "advisories");
    const artifacts = [
      ["apk", "openssl"],
      ["deb", "openssl"],
      ["pypi", "django"],
      ["npm", "@types/node"],
      ["maven", "org.apache:log4j"],
      ["golang", "github.com/x/y"],
    ] as const;
    const histories: readonly (readonly [GivenEvent, GivenEvent])[] = [
      [detected, fixedIn("1.2.3-r4")],
      [confirmed(), refuted(5)],
      [detected, confirmed("Not yet.")],
    ];
    for (const [artifactType, artifactName] of artifacts) {
      for (const [first, last] of histories) {
        const alias = `CVE-2026-${1000 + ++count}`;
        const shared = { artifactType, artifactName, artifactArchitecture: "", aliases: [alias] };
        ({ advisoryId: id } = await put(world, group, { ...shared, advisoryId: `CGA-${count}`, events: [first, last] }));
      }
    }
    await later(world);
  });

  /** The OpenVEX statements of the group: name of the vulnerability, package URL and status. */
  async function standingsIn(uid: string): Promise<string[]> {
    const { statements } = await getJson<{ statements: Statement[] }>(world, `${uid}/openvex.json`);
    return statements
      .flatMap(({ vulnerability: { name }, products, status }) => products.map((one) => [name, one["@id"], status].join(" ")))
      .sort();
  }

  for (const file of ["osv.zip", "openvex.json", "csaf.zip", "secdb.json"]) {
    it(`importing ${file} results in the same statements`, async () => {
      const path = join(world.dataDir, file);
      await writeFile(path, (await get(world, `${group}/${file}`)).bytes);
      const parent = await world.group(world.orgUid, "imported");
      const problems: object[] = [];
      const { store, clock } = world;
      const told = { path, reader, onProblem: (problem: object) => void problems.push(problem) };
      await importRecords({ store, clock, kind: "advisories", parent, approves: true, mayDelete: true, actor: "somebody", ...told });
      assert.deepEqual(problems, []);
      const before = await standingsIn(group);
      assert.equal(before.length, count);
      const isTold = (standing: string) => file !== "secdb.json" || (standing.includes("pkg:apk/") && !standing.endsWith(" affected"));
      assert.deepEqual(await standingsIn(parent), before.filter(isTold));
    });
  }

  it("importing OSV keeps the ids of advisories", async () => {
    const record = await getJson<{ id: string; aliases: string[] }>(world, `${group}/osv/${id}.json`);
    const parent = await world.group(world.orgUid, "again");
    const path = join(world.dataDir, "one.json");
    await writeFile(path, JSON.stringify(record));
    const { store, clock } = world;
    const told = { path, reader, onProblem: (problem: { reason: string }) => assert.fail(problem.reason) };
    await importRecords({ store, clock, kind: "advisories", parent, approves: true, mayDelete: true, actor: "somebody", ...told });
    const { aliases } = await getJson<typeof record>(world, `${parent}/osv/${id}.json`);
    assert.deepEqual(aliases, record.aliases);
  });
});
