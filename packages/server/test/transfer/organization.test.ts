/** An organization moves between servers and stores with everything in it, and nothing of others. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { isInternalOnly } from "@holt/api";
import { Capability, CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { startSampleWorld } from "../conformance/samples.ts";
import { S3_CREDENTIALS, startS3Server } from "../harness/blobs/s3-server.ts";
import { type StoreName, storeNames } from "../harness/harness.ts";
import { createInstallation, runHoltd, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { assertSameRows, rowsIn, textsIn } from "../harness/transfer/exported-rows.ts";
import {
  fillOrganization,
  fillOther,
  insertOtherRows,
  organizationsOf,
  removeUnfinishedImport,
} from "../harness/transfer/fill-organization.ts";
import { readContent, readLists, signIn } from "../harness/transfer/read-everything.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

/** The capabilities that an ordinary organization can grant. */
const ORDINARY = CapabilitySchema.values
  .map(({ number }) => number as Capability)
  .filter((capability) => capability !== Capability.UNKNOWN && capability !== Capability.CAP_INTERNAL && !isInternalOnly(capability));
const PASSPHRASE = "correct horse battery staple";

function settingsOf(world: World): Settings {
  return { HOLT_DATA_DIR: world.dataDir, HOLT_DATABASE_URL: world.databaseUrl, HOLT_BASE_URL: world.baseUrl, HOLT_LOG_LEVEL: "error" };
}

/** A server that was started once, and is stopped. */
async function emptyServer(store: StoreName, given: Settings): Promise<Settings> {
  const settings = { HOLT_DATABASE_URL: await createDatabaseOn(store), HOLT_LOG_LEVEL: "error", ...given };
  await createInstallation(settings);
  return settings;
}

/** @param code of the exit */
async function must(args: readonly string[], settings: Settings, code = 0): Promise<string> {
  const ended = await runHoltd(args, settings);
  assert.equal(ended.code, code, `${args.join(" ")}: ${ended.stderr}${ended.stdout}`);
  return ended.stdout;
}

/** The problems that `holtd verify` finds, which are tags that the samples made without manifests. */
async function problemsOf(settings: Settings, code: number): Promise<string[]> {
  const lines = (await must(["verify", "--quick"], settings, code)).trim().split("\n");
  assert.match(lines.at(-1) ?? "", /^Checked /);
  return lines.slice(0, -1).toSorted();
}

/** Whether the server has sealed entries of the organization and signed their end, as it does every few seconds. */
async function hasCheckpoint({ store, orgUid }: World): Promise<boolean> {
  const row = await store.reader.selectFrom("audit_checkpoint").select("org_uid").where("org_uid", "=", orgUid).executeTakeFirst();
  return row !== undefined;
}

for (const from of storeNames) {
  describe(`an organization of a server on ${from}`, () => {
    test("moves to other servers of both stores with all of its rows, and with nothing of other organizations", async () => {
      await using world = await startSampleWorld({ store: from });
      await using folder = await temporaryFolder();
      const source = { ...settingsOf(world), HOLT_BACKUP_PASSPHRASE: PASSPHRASE };
      const foreign = await fillOther(world, "zebra");
      await fillOrganization(world);
      const robot = await world.robot(world.orgUid, ORDINARY);
      const exported = join(folder.path, "export");
      await insertOtherRows(world);
      await until(() => hasCheckpoint(world));
      await must(["export", world.orgUid, exported], source);
      const texts = await textsIn(exported);
      for (const { uid } of await organizationsOf(world)) if (uid !== world.orgUid) foreign.push(uid);
      const leaks = [...texts].flatMap(([name, text]) => foreign.filter((word) => text.includes(word)).map((word) => `${name}: ${word}`));
      assert.deepEqual(leaks, []);

      const rows = await rowsIn(exported);
      assert.deepEqual(
        [...rows].filter(([, { length }]) => length === 0).map(([name]) => name),
        [],
      );
      const problems = await problemsOf(source, 3);
      await removeUnfinishedImport(world);
      const wanted = {
        lists: await readLists(world.baseUrl, robot.token, rows),
        content: await readContent(world.baseUrl, robot.token, rows),
      };
      await using s3 = await startS3Server();
      const bucket = { ...s3.env, AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey };
      for (const to of storeNames) {
        // One server keeps its blobs in a folder, the other in a bucket.
        const blobs = to === "postgres" ? bucket : {};
        const place = await emptyServer(to, { HOLT_DATA_DIR: join(folder.path, to), HOLT_BASE_URL: world.baseUrl, ...blobs });
        const settings = { ...place, HOLT_BACKUP_PASSPHRASE: PASSPHRASE };
        assert.match(
          await must(["import", "org", exported], settings, 3),
          /^Imported my-org .*\nLeft out: \d+ passwords of pull tokens\.$/m,
        );
        assert.deepEqual(await problemsOf(settings, 3), problems);
        const again = join(folder.path, `again-${to}`);
        await must(["export", world.orgUid, again], settings);
        const rowsThere = new Map(await rowsIn(again));
        for (const table of ["pull_token_secret", "recovery_code"]) {
          assert.deepEqual(rowsThere.get(table), []);
          rowsThere.set(table, rows.get(table) ?? []);
        }
        assertSameRows(rowsThere, rows);

        await using server = await startHoltd(settings);
        const url = `http://127.0.0.1:${server.port}`;
        const token = await signIn(url, robot.uid, await world.robotProof());
        const lists = await readLists(url, token, rows);
        const different = [...lists].filter(([title, answer]) => answer !== wanted.lists.get(title));
        assert.deepEqual(
          different.map(([title, answer]) => [title, answer, wanted.lists.get(title)]),
          [],
        );
        assert.ok([...lists.values()].filter((answer) => answer.startsWith("200")).length > 100);
        assert.deepEqual(await readContent(url, token, rows), wanted.content);
      }
    });
  });
}

test("servers on PostgreSQL notice an organization that is imported while they run", async () => {
  await using world = await startWorld();
  await using folder = await temporaryFolder();
  using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
  await client.image("my-org/app", "v1");
  const robot = await world.robot(world.orgUid, ORDINARY);
  const exported = join(folder.path, "export");
  await must(["export", "my-org", exported], settingsOf(world));
  const settings = await emptyServer("postgres", {
    HOLT_DATA_DIR: join(folder.path, "data"),
    HOLT_BASE_URL: world.baseUrl,
    HOLT_ORG_NAME: "other",
  });
  await using server = await startHoltd(settings);
  const url = `http://127.0.0.1:${server.port}`;
  await assert.rejects(signIn(url, robot.uid, await world.robotProof()));
  await must(["import", "org", exported], settings);
  let token = "";
  await until(async () => {
    token = await signIn(url, robot.uid, await world.robotProof()).catch(() => "");
    return token !== "";
  });
  using there = createRegistryClient(url, basic("_token", token));
  assert.equal((await there.send("GET", "my-org/app/manifests/v1")).status, 200);
});
