/** Fills the first organization of a world with every kind of resource and content, for tests that carry it elsewhere. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fromJson, hasOption } from "@bufbuild/protobuf";
import { events } from "@holt/api";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { createSecrets } from "../../../src/iam/secrets/secrets.ts";
import { parseSecretsKey } from "../../../src/iam/secrets/secrets-key.ts";
import { operationSamples, samples } from "../../conformance/samples.ts";
import { CRITICAL, osv } from "../advisories/findings-world.ts";
import { importJson } from "../advisories/import-world.ts";
import { httpRequestOf } from "../clients.ts";
import { operations } from "../contract.ts";
import { createMavenClient } from "../libraries/maven-client.ts";
import { upload, wheel } from "../libraries/python-packages.ts";
import { APK, apkDatabase, layerOf, osRelease } from "../registry/image-content.ts";
import { createImageRepo } from "../registry/image-world.ts";
import { basic, createRegistryClient, digestOf, INDEX, MANIFEST } from "../registry/registry-client.ts";
import { createParent, createResource } from "../samples.ts";
import { startDirectory } from "../scim/directory.ts";
import { until } from "../wait.ts";
import type { World } from "../world.ts";

/** Resources of all samples, and a successful call of each operation that has an event. */
export async function fillOrganization(world: World): Promise<void> {
  for (const sample of samples) {
    const parent = sample.parent.onlyInOrganizations
      ? await sample.parent.create(world, world.orgUid, "place")
      : await createParent(world, sample, await world.group(world.orgUid));
    await createResource(world, sample, parent, "carried");
  }
  for (const { name, method, isServed } of operations) {
    const event = operationSamples.get(name)?.event;
    if (event === undefined || !isServed || !hasOption(method, events)) continue;
    const call = await event.succeeding(world);
    const { verb, path, body } = httpRequestOf(method, fromJson(method.input, call.request));
    const answer = await world.raw(verb, path, body, call.token);
    if (answer.status !== 200) throw new Error(`${name}: ${answer.text}`);
  }
  await pushImages(world);
  await publishLibraries(world);
  await compareAdvisories(world);
  await provision(world);
  await world.user("ada");
}

/** Images, an index, a referrer, and tags that moved. */
async function pushImages(world: World): Promise<void> {
  using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
  const name = "my-org/carried-images";
  const amd64 = await client.image(name, "v1", { architecture: "amd64" });
  const arm64 = await client.image(name, undefined, { architecture: "arm64" });
  await client.manifest(name, { schemaVersion: 2, mediaType: INDEX, manifests: [amd64, arm64] }, "latest");
  await client.image(name, "latest");
  const config = await client.blob(name, "{}");
  const layer = await client.blob(name, "a signature");
  await client.manifest(name, {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config,
    layers: [layer],
    subject: amd64,
    artifactType: "application/x",
  });
}

async function publishLibraries(world: World): Promise<void> {
  using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
  const answer = await upload(client, "my-org", wheel({ name: "carried-wheel" }));
  if (answer.status !== 200) throw new Error(answer.body.toString());
  const maven = createMavenClient(client, "/libraries/java/my-org");
  await maven.deploy({ groupId: "org.carried", artifactId: "lib", version: "1.0" }, "the bytes of a jar");
}

/** An image with packages, a critical vulnerability in one of them, and the record of that vulnerability. */
async function compareAdvisories(world: World): Promise<void> {
  using repo = await createImageRepo(world, world.token, world.orgUid);
  const layer = await layerOf({
    [APK]: apkDatabase("carried-package 1.0-r0", "other-package 2.0-r0"),
    "etc/os-release": osRelease("wolfi", "20230201"),
  });
  await repo.push([layer], { architecture: "amd64" });
  const vulnerability = {
    id: "CVE-2024-0001",
    modified: "2024-01-01T00:00:00Z",
    summary: "bad",
    severity: [{ type: "CVSS_V3", score: CRITICAL }],
  };
  await importJson(world, [vulnerability], { kind: "vulnerabilities" });
  const events = [{ introduced: "0" }, { fixed: "1.0-r9" }];
  await importJson(world, [osv("CVE-2024-0001", [{ ecosystem: "Wolfi", name: "carried-package", events }])], { parent: world.orgUid });
  await until(async () => {
    const scans = await world.store.reader.selectFrom("image_wait").select("digest").where("org_uid", "=", world.orgUid).execute();
    const waiting = await world.store.reader.selectFrom("match_request").select("name").where("org_uid", "=", world.orgUid).execute();
    return scans.length + waiting.length === 0;
  });
}

/** A directory with a user in a group. */
async function provision(world: World): Promise<void> {
  const directory = await startDirectory(world, { organization: world.orgUid });
  const user = await directory.user({ externalId: "ada", active: true });
  await directory.group("engineers", [String(user.id)]);
}

/** Rows of the tables that calls fill only for a moment or in special conditions. Servers leave them alone for the time of an export. */
export async function insertOtherRows(world: World): Promise<void> {
  const org = world.orgUid;
  const below = { lower: `${org}/`, upper: `${org}0` };
  const create_time = world.clock.now().toISOString();
  // Longer than an export takes, and no longer than a server could set it, which would free the rows.
  const lease = { lease_holder: "test", lease_time: new Date(world.clock.now().getTime() + 110_000).toISOString() };
  await world.store.transaction(async (db) => {
    const tag = await db
      .selectFrom("tag")
      .selectAll()
      .where("uid", ">", below.lower)
      .where("uid", "<", below.upper)
      .executeTakeFirstOrThrow();
    const image = await db
      .selectFrom("image")
      .selectAll()
      .where("repo_uid", ">", below.lower)
      .where("repo_uid", "<", below.upper)
      .executeTakeFirstOrThrow();
    const file = await db
      .selectFrom("library_file")
      .selectAll()
      .where("artifact_uid", ">", below.lower)
      .where("artifact_uid", "<", below.upper)
      .executeTakeFirstOrThrow();
    const { repo_uid, digest } = image;
    const idp_uid = (
      await db
        .selectFrom("scim_token")
        .select("idp_uid")
        .where("idp_uid", ">", below.lower)
        .where("idp_uid", "<", below.upper)
        .executeTakeFirstOrThrow()
    ).idp_uid;
    const person = world.userUid("ada");
    const insert = async (table: string, row: object) =>
      void (await db
        .insertInto(table as never)
        .values(row as never)
        .onConflict((conflict) => conflict.doNothing())
        .execute());
    const body = JSON.stringify({ endOfLife: "2030-01-01" });
    const account = {
      subject: "subject",
      user_handle: "handle",
      email: "ada@example.test",
      email_within: org,
      name: "Ada",
      password_hash: "$argon2id$x",
    };
    const sealed = createSecrets(parseSecretsKey(await readFile(join(world.dataDir, "secrets.key"), "utf8")) ?? assert.fail()).seal(
      "totp",
      `local_account/${person}/totp`,
    );
    await insert("access_request", { group_uid: org, identity_uid: person, email: "ada@example.test", create_time });
    await insert("sign_in_settings", {
      org_uid: org,
      forbids_local_accounts: 0,
      requires_second_factor: 1,
      requires_own_provider: 0,
      display_name: "Acme",
      logo_type: "",
      logo: "",
    });
    await insert("local_account", { identity_uid: person, ...account, totp_secret: sealed, create_time, update_time: create_time });
    await insert("passkey", {
      credential_id: "credential",
      uid: `${person}/0123456789abcdef`,
      identity_uid: person,
      public_key: "AA",
      sign_count: 0,
      transports: "[]",
      name: "laptop",
      create_time,
    });
    await insert("account_link", {
      uid: `${org}/0123456789abcdef`,
      org_uid: org,
      identity_uid: person,
      linked_uid: world.userUid("bob"),
      idp_uid,
      name: "Ada",
      create_time,
    });
    await insert("saved_filter", { identity_uid: person, org_uid: org, list: "advisories", name: "open", query: "state=open" });
    await insert("recovery_code", { code_hash: "00", identity_uid: person });
    await insert("provider_login", { idp_uid, identity_uid: person, create_time });
    await insert("organization_limit", { org_uid: org, name: "repos", value: 100_000 });
    await insert("registry_settings", { group_uid: org, unique_tags: 0, eol_grace_period: 1 });
    await insert("pull_recording", { org_uid: org, recording: "manifests" });
    await insert("repo_deployment", { repo_uid, body: "{}" });
    await insert("repo_end_of_life", { uid: repo_uid, body });
    await insert("tag_end_of_life", { uid: tag.uid, body });
    await insert("repo_share", { source_uid: repo_uid, after: "", request_time: create_time, ...lease });
    await insert("image_facts_wait", { image: `${repo_uid}@${digest}`, repo_uid, digest, after: "", request_time: create_time, ...lease });
    await insert("chart_image", { repo_uid, manifest_digest: digest, org_uid: org, repository: "example.com/app", requirement: 1 });
    await insert("build_report", {
      uid: `${repo_uid}/0123456789abcdef`,
      parent: repo_uid,
      org_uid: org,
      manifest_digest: digest,
      start_time: create_time,
      body: "{}",
    });
    await insert("pull_count", {
      hour: "2099-01-01T00",
      repo_uid,
      digest,
      tag: "",
      method: "GET",
      identity_uid: person,
      repository: "app",
      claims: "{}",
      count: 3,
    });
    await insert("image_scan", { digest, state: "pending", attempts: 0, distribution: "", error: "", package_count: 0, ...lease });
    await insert("image_wait", { digest, org_uid: org, due_time: "2099-01-01T00:00:00.000Z" });
    await insert("library_provenance", { artifact_uid: file.artifact_uid, path: file.path, digest: "00", body: "{}" });
    await insert("match_turn", { org_uid: org, turn_time: create_time });
    await db.updateTable("match_turn").set(lease).where("org_uid", "=", org).execute();
    await insert("match_request", { org_uid: org, kind: "package", name: "apk/carried-package", token: "t" });
    await insert("import_turn", { org_uid: org, turn_time: create_time });
    const run = {
      parent: org,
      org_uid: org,
      kind: "advisories",
      file_name: "a.json",
      create_time,
      write_time: create_time,
      received_bytes: 1,
      approves: 0,
      may_delete: 0,
      attempts: 0,
      error: "",
      etag: "",
      last_modified: "",
      digest: "",
      read_count: 1,
      created_count: 0,
      updated_count: 0,
      unchanged_count: 0,
      problem_count: 1,
    };
    await insert("advisory_import", { uid: `${org}/00000000000000aa`, ...run, file: "done", state: "done", end_time: create_time });
    await insert("advisory_import", { uid: `${org}/00000000000000bb`, ...run, file: "unfinished", state: "uploading" });
    await insert("advisory_import_problem", {
      import_uid: `${org}/00000000000000aa`,
      number: 1,
      file: "a.json",
      position: "1",
      reason: "bad",
    });
    await insert("advisory_import_problem", {
      import_uid: `${org}/00000000000000bb`,
      number: 1,
      file: "a.json",
      position: "1",
      reason: "unfinished",
    });
  });
}

/** Ends the import that stays behind, so that the lists of both servers are the same. */
export async function removeUnfinishedImport(world: World): Promise<void> {
  await world.store.transaction((db) => db.deleteFrom("advisory_import").where("state", "=", "uploading").execute());
}

/** Another organization with content of its own, some of it the same. @returns what must not be in an export of the first */
export async function fillOther(world: World, name: string): Promise<string[]> {
  const uid = await world.group("", name);
  const folder = await world.group(uid, `${name}-folder`);
  using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
  await client.image(`${name}/${name}-images`, `${name}-tag`);
  const own = `the content of ${name}`;
  await client.blob(`${name}/${name}-images`, own);
  await upload(client, name, wheel({ name: `${name}-wheel` }));
  const subscription = { sink: `https://${name}.example.com/` };
  await world.raw("POST", `/events/v2/subscriptions/${uid}`, subscription);
  return [name, uid, folder, digestOf(own)];
}

/** The organizations of the world. */
export async function organizationsOf(world: World): Promise<{ readonly uid: string; readonly name: string }[]> {
  return (await world.must(GroupsService.method.listGroups, { uidp: { inRoot: true }, pageSize: 200 })).groups;
}
