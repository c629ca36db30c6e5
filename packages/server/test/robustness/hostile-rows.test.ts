/**
 * Feeds paths whose work is in the database with hostile inputs, on both stores. One request must cost the main thread
 * little CPU time and the process little memory.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Import_State } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { newUid } from "../../src/lib/uid.ts";
import { entitleOwner } from "../harness/advisories/entitle-owner.ts";
import { begin, ended } from "../harness/advisories/remote-client.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import {
  basic,
  CONFIG,
  createRegistryClient,
  digestOf,
  INDEX,
  MANIFEST,
  type RegistryClient,
} from "../harness/registry/registry-client.ts";
import { assertYielding, createCostChecks } from "../harness/robustness/cost-checks.ts";
import { fill, jsonTexts } from "../harness/robustness/hostile-documents.ts";
import { type MeteredClient, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { PATCH, startDirectory } from "../harness/scim/directory.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

describeWithWorld("hostile input to the database", (world) => {
  let client: MeteredClient;
  let registry: RegistryClient;
  let group: string;
  before(async () => {
    client = startMeteredClient(world.baseUrl, world.token);
    registry = createRegistryClient(world.baseUrl, basic("_token", world.token));
    group = await world.group(world.orgUid, "hostile");
  });
  after(async () => {
    registry[Symbol.dispose]();
    await client[Symbol.asyncDispose]();
  });
  const { assertCheap, assertAllCheap } = createCostChecks(() => client);

  test("a list of referrers with many annotations costs the main thread little", async () => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "referrers" } });
    const config = await registry.blob(uid, "{}", CONFIG);
    const subject = { mediaType: MANIFEST, digest: digestOf("subject"), size: 1 };
    for (let i = 0; i < 12; i++) {
      const annotations = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`${i}-${at}`, ""]));
      await registry.manifest(uid, { schemaVersion: 2, config, layers: [], subject, annotations });
    }
    const headers = { authorization: basic("_token", world.token) };
    const { text } = await assertCheap("referrers", { method: "GET", path: `/v2/${uid}/referrers/${subject.digest}`, headers });
    assert.match(text, /"annotations":\{"/);
  });

  test("an index that many indexes contain costs the main thread little when it is pushed, and later", async () => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "indexes" } });
    const images = [];
    for (let i = 0; i < 80; i++) images.push(await registry.image(uid, undefined, { architecture: `arch${i}` }));
    const inner = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: images });
    const child = { mediaType: INDEX, digest: digestOf(inner), size: inner.length };
    for (let i = 0; i < 80; i++)
      await registry.manifest(uid, { schemaVersion: 2, mediaType: INDEX, manifests: [{ ...child, annotations: { number: String(i) } }] });
    const headers = { authorization: basic("_token", world.token), "content-type": INDEX };
    await assertYielding("recording the images of indexes", async () => {
      const { status } = await assertCheap("an index", { method: "PUT", path: `/v2/${uid}/manifests/inner`, headers, body: inner });
      assert.equal(status, 201);
      const { reader } = world.store;
      await until(async () => {
        const rows = await reader
          .selectFrom("image")
          .select((eb) => eb.fn.countAll().as("n"))
          .where("repo_uid", "=", uid)
          .executeTakeFirstOrThrow();
        return Number(rows.n) === 80 * 82;
      });
    });
  });

  test("no SCIM filter or PATCH costs the main thread much", async () => {
    const directory = await startDirectory(world);
    const headers = { authorization: `Bearer ${directory.token}`, "content-type": "application/scim+json" };
    const emails = Array.from({ length: 150 }, (_, i) => ({ value: `u${i}@example.com`, type: `t${i}` }));
    const user = (await directory.user({ emails })) as { id: string };
    const { id: groupId } = (await directory.group("g", [user.id])) as { id: string };
    const filters: Record<string, (bytes: number) => string> = {
      parentheses: (bytes) => "(".repeat(bytes),
      terms: (bytes) => fill(bytes, (i) => `userName co "${i}" or `, "", 'userName eq "a"'),
      quotes: (bytes) => '"'.repeat(bytes),
      escapes: (bytes) => `userName eq "${"\\".repeat(bytes)}`,
      "filters of values": (bytes) => fill(bytes, 'emails[type eq "a" and value co "b"] or ', "", "active pr"),
      negations: (bytes) => fill(bytes, "not ("),
      spaces: (bytes) => `${" ".repeat(bytes)}x`,
    };
    const found = (filter: string) => `${directory.path}/Users?filter=${encodeURIComponent(filter)}`.slice(0, 16_000);
    await assertAllCheap(filters, [KIB, 8000], (filter) => ({ method: "GET", path: found(filter), headers }));
    const patch = (id: string, operations: readonly object[], endpoint = "Users") => ({
      ...{ method: "PATCH", path: `${directory.path}/${endpoint}/${id}`, headers },
      body: JSON.stringify({ schemas: [PATCH], Operations: operations }),
    });
    const long = (terms: number) => `emails[${Array.from({ length: terms }, (_, i) => `value co "x${i}"`).join(" or ")}]`;
    const times = <T>(length: number, of: (index: number) => T): T[] => Array.from({ length }, (_, i) => of(i));
    await assertCheap(
      "long filters in a PATCH",
      patch(
        user.id,
        times(190, () => ({ op: "remove", path: long(99) })),
      ),
    );
    await assertCheap(
      "known values in a PATCH",
      patch(
        user.id,
        times(19, () => ({ op: "add", path: "emails", value: emails })),
      ),
    );
    const noPath = { op: "add", value: Object.fromEntries(times(40, (i) => [`emails[type eq "${i}"].value`, "x@y"])) };
    await assertCheap(
      "operations without a path",
      patch(
        user.id,
        times(200, () => noPath),
      ),
    );
    const longText = "x".repeat(3.5 * MIB);
    await assertCheap(
      "a long text for all values of an attribute",
      patch(user.id, [{ op: "replace", path: "emails.display", value: longText }]),
    );
    const longThenShort = [{ value: longText }, ...times(19, (i) => ({ value: `x${i}` }))].map((value) => ({
      op: "add",
      path: "emails",
      value,
    }));
    await assertCheap("values beside a long one", patch(user.id, longThenShort));
    const remove = (i: number) => ({ op: "remove", path: `members[value eq "${i}" or value co "x"]` });
    await assertCheap("filters of members", patch(groupId, times(1000, remove), "Groups"));
  });

  test("a list of large SCIM users ends early and costs the main thread little, and the next page goes on", async () => {
    const directory = await startDirectory(world);
    await fillDirectory(world, directory.idpUid, 500, { display: "x".repeat(7000) });
    const headers = { authorization: `Bearer ${directory.token}` };
    await assertCheap("a page", { method: "GET", path: `${directory.path}/Users?count=500`, headers });
    const names = new Set<string>();
    for (let startIndex = 1; startIndex <= 500; ) {
      const page = await directory.must(200, "GET", `/Users?count=500&startIndex=${startIndex}`);
      assert.ok(page.itemsPerPage > 0 && page.itemsPerPage === page.Resources.length);
      for (const { userName } of page.Resources) names.add(userName);
      startIndex += page.itemsPerPage;
    }
    assert.equal(names.size, 500);
  });

  test("thousands of identity providers with one issuer make no sign-in with it cost the main thread much", async () => {
    await using issuer = await startIssuer({ now: world.clock.now });
    const defaultRole = await builtInRole(world, "viewer");
    const create = async (parent: string, clientId: string) => {
      const additionalScopes = Array.from({ length: 32 }, (_, i) => `${i}`.padEnd(256, "x"));
      const oidc = { issuer: issuer.issuer, clientId, clientSecret: "s", additionalScopes };
      const { status, text } = await world.raw("POST", `/iam/v2/identityProviders/${parent}`, { name: "sso", defaultRole, oidc });
      assert.equal(status, 200, text);
    };
    const hostile = await world.group("", "hostile");
    await create(hostile, "many");
    await create(await world.group("", "victim"), "victim");
    await world.store.transaction(async (db) => {
      const row = await db.selectFrom("identity_provider").selectAll().where("parent", "=", hostile).executeTakeFirstOrThrow();
      const copies = Array.from({ length: 100 }, () => row);
      for (let i = 0; i < 30; i++) {
        const rows = copies.map((copy) => ({ ...copy, uid: newUid(hostile) }));
        await db.insertInto("identity_provider").values(rows).execute();
      }
    });
    const exchange = (token: string) => ({ method: "POST", path: "/sts/exchange", headers: { authorization: `Bearer ${token}` } });
    for (const [what, client] of Object.entries({
      "a token for nobody": "other",
      "a token for many": "many",
      "a token for one": "victim",
    })) {
      const token = await issuer.sign({ sub: "x", aud: client });
      const forged = token.replace(/[^.]+$/, "AAAA");
      await assertCheap(`${what}, forged`, exchange(forged));
      const { status, text } = await assertCheap(what, exchange(token));
      assert.deepEqual([client, status], [client, client === "many" ? 400 : 404], text);
    }
  });

  test("importing hostile advisories lets other requests run", async () => {
    await entitleOwner(world, group);
    const osv = (more: string) =>
      `{"id":"GHSA-2222-3333-4444","modified":"2024-01-01T00:00:00Z","affected":[{"package":{"ecosystem":"Wolfi","name":"a"}}]${more}}`;
    const events = (i: number) =>
      `      - timestamp: 2024-03-01T10:00:00Z\n        type: fixed\n        data:\n          fixed-version: 1.${i}\n`;
    const yaml =
      "schema-version: 2.0.2\npackage:\n  name: y\nadvisories:\n  - id: CGA-2222-3333-4444\n    aliases:\n      - CVE-2024-0001\n    events:\n";
    const files: Record<string, string> = {
      aliases: osv(fill(2 * MIB, (i) => `"CVE-2024-${i}",`, ',"aliases":[', '"CVE-2024-1"]')),
      references: osv(
        fill(2 * MIB, (i) => `{"type":"WEB","url":"https://e.test/${i}"},`, ',"references":[', '{"type":"WEB","url":"https://e.test"}]'),
      ),
      "nested YAML": `package: ${"[".repeat(50_000)}`,
      "aliases of YAML": fill(100 * KIB, "- *a\n", `package: &a [${"1,".repeat(1000)}1]\nadvisories:\n`),
      events: fill(200 * KIB, events, yaml),
      ...Object.fromEntries(["nested lists", "empty objects"].map((name) => [name, jsonTexts[name]?.(MIB) ?? ""])),
    };
    for (const [name, text] of Object.entries(files)) {
      const uid = await begin(world, group, text);
      const { state } = await assertYielding(name, () => ended(world, uid));
      assert.ok(state === Import_State.DONE || state === Import_State.FAILED);
    }
  });

  test("no scan of a directory of 20,000 large resources keeps other requests waiting", async () => {
    const directory = await startDirectory(world);
    await fillDirectory(world, directory.idpUid, 20_000);
    const headers = { authorization: `Bearer ${directory.token}` };
    const filters = {
      "terms on every value": Array.from({ length: 99 }, (_, i) => `emails.value co "y${i}"`).join(" or "),
      "a sort by an attribute without an index": undefined,
    };
    for (const [name, filter] of Object.entries(filters)) {
      const query = filter === undefined ? "sortBy=title&sortOrder=descending" : `filter=${encodeURIComponent(filter)}`;
      const { status, text } = await assertYielding(name, () =>
        world.http("GET", `${directory.path}/Users?${query}&count=1`, undefined, headers),
      );
      assert.equal(status, 200, text);
      assert.equal(JSON.parse(text).totalResults, filter === undefined ? 20_000 : 0);
    }
  });
});

/** Adds users with many email addresses. @param more members of each address */
async function fillDirectory({ store }: World, idpUid: string, count: number, more: object = {}): Promise<void> {
  const emails = Array.from({ length: 8 }, (_, i) => ({ value: `person${i}@example.com`, type: `t${i}`, ...more }));
  const time = "2026-01-01T00:00:00.000Z";
  for (let first = 0; first < count; first += 500)
    await store.transaction(async (db) => {
      const users = Array.from({ length: 500 }, (_, i) => {
        const name = `user${first + i}`;
        const body = JSON.stringify({ schemas: [], userName: name, title: name, emails });
        return { id: `${idpUid.slice(-8)}-${name}`, idp_uid: idpUid, external_id: name, user_name: name, active: 1, body };
      });
      const times = { create_time: time, update_time: time, delete_time: null, version: 1 };
      await db
        .insertInto("scim_user")
        .values(users.map((user) => ({ ...user, ...times })))
        .execute();
    });
}
