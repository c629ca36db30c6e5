/** Subscribers receive the right deliveries; each is verified as a receiver verifies it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { builtInRoles } from "../../src/iam/grants/built-in-roles.ts";
import { parentOf } from "../../src/lib/uid.ts";
import { type DeliveryWorld, type OutboxRow, startDeliveryWorld } from "../harness/events/delivery-world.ts";
import { storeNames } from "../harness/harness.ts";
import { CONFIG, createRegistryClient, MANIFEST } from "../harness/registry/registry-client.ts";
import { Refusal, verifyDelivery } from "../harness/verify-delivery.ts";
import { until } from "../harness/wait.ts";
import type { Received } from "../harness/webhook-receiver.ts";

const profiles = [
  { profile: "", prefix: "dev.holt", root: "platform", userAgent: /^Holt/ },
  { profile: "chainguard", prefix: "dev.chainguard", root: "chainguard.platform", userAgent: /^Chainguard Enforce/ },
];
const VIEWER = builtInRoles.find(({ name }) => name === "viewer")?.uid ?? "";
const uidOf = (letter: string) => letter.repeat(40);
const digest = (letter: string) => `sha256:${letter.repeat(64)}`;

for (const store of storeNames) {
  for (const { profile, prefix, root, userAgent } of profiles) {
    describe(`webhooks on ${store} with vendor profile "${profile}"`, () => {
      let world: DeliveryWorld;
      before(async () => {
        world = await startDeliveryWorld({ store, env: { HOLT_VENDOR_PROFILE: profile } });
      });
      after(() => world[Symbol.asyncDispose]());

      it("a webhook delivers every type of event complete, signed and with all attributes", async () => {
        const group = await world.group(world.orgUid, "all-kinds");
        await world.subscribe(world.orgUid, "/all-kinds");
        await makeEveryKind(world, group);
        const expected = await settledEvents(world, world.orgUid, "/all-kinds");
        assert.ok(expected.length >= kinds.length, `${expected.length}`);
        const arrived = world.sink.at("/all-kinds");
        assert.deepEqual(
          arrived.map(({ headers }) => headers["ce-id"]),
          expected.map(({ id }) => id),
        );
        for (const [i, received] of arrived.entries()) await assertDelivery(world, received, expected[i]!, { userAgent });
        assert.deepEqual(new Set(arrived.map(({ headers }) => String(headers["ce-type"]).slice(prefix.length))), new Set(kinds));
        for (const { type } of expected) assert.ok(type.startsWith(`${prefix}.`), type);
        const bodyTypes = new Set(arrived.map(({ headers }) => headers["ce-bodytype"]).filter((name) => name !== undefined));
        for (const name of bodyTypes) assert.match(String(name), new RegExp(`^${root}\\.(iam|registry|events)\\.v2\\.[A-Z]\\w+$`));
        assert.ok(bodyTypes.has(`${root}.iam.v2.BatchCreateRoleBindingsResponse`));
      });

      it("the event of a v2beta1 call names v2beta1 in its source and body type", async () => {
        const group = await world.group(world.orgUid);
        await world.subscribe(group, "/v2beta1");
        const { uid } = await world.call("POST", `/iam/v2beta1/groups/${group}`, { name: "made" });
        await world.call("POST", `/iam/v2beta1/roleBindings:batchCreate`, {
          parent: group,
          roleUid: VIEWER,
          requests: [{ roleBinding: { identityUid: uidOf("b") } }],
        });
        await world.call("DELETE", `/iam/v2beta1/groups/${uid}`);
        await settledEvents(world, group, "/v2beta1");
        const events = await Promise.all(world.sink.at("/v2beta1").map((one) => verifyDelivery(one, { issuer: world.baseUrl, group })));
        assert.deepEqual(
          events.slice(1).map(({ source, bodyType }) => [source.slice(world.baseUrl.length), bodyType.slice(root.length)]),
          [
            ["/iam/v2beta1/groups", ".iam.v2beta1.Group"],
            ["/iam/v2beta1/roleBindings:batchCreate", ".iam.v2beta1.BatchCreateRoleBindingsResponse"],
            ["/iam/v2beta1/groups", ".iam.v2beta1.DeleteGroupRequest"],
          ],
        );
        assert.equal(events[1]?.subject, uid);
      });

      if (profile !== "") return;

      it("an event goes to the groups above and no others, each with a token for the group of the subscription", async () => {
        const top = await world.group(world.orgUid, "top");
        const middle = await world.group(top, "middle");
        const [left, right] = [await world.group(middle, "left"), await world.group(middle, "right")];
        const paths = new Map(Object.entries({ "/top": top, "/middle": middle, "/left": left, "/right": right }));
        for (const [path, group] of paths) await world.subscribe(group, path);
        const [inLeft, inRight, inTop] = [await world.group(left), await world.group(right), await world.group(top)];
        await world.call("PATCH", `/iam/v2/groups/${middle}`, { description: "changed" });
        await world.settle();
        const subjectsAt = (path: string) =>
          world.sink
            .at(path)
            .filter(({ headers }) => !String(headers["ce-type"]).includes("subscription"))
            .map(({ headers }) => headers["ce-subject"]);
        assert.deepEqual(subjectsAt("/top"), [inLeft, inRight, inTop, middle]);
        assert.deepEqual(subjectsAt("/middle"), [inLeft, inRight, middle]);
        assert.deepEqual(subjectsAt("/left"), [inLeft]);
        assert.deepEqual(subjectsAt("/right"), [inRight]);
        for (const [path, group] of paths) {
          for (const received of world.sink.at(path)) await verifyDelivery(received, { issuer: world.baseUrl, group });
        }
      });

      it("a subscription receives the event of its creation but not that of its deletion", async () => {
        const group = await world.group(world.orgUid);
        const above = await world.group(world.orgUid);
        await world.subscribe(above, "/above");
        const inner = await world.group(above);
        const uid = await world.subscribe(inner, "/short-lived");
        await settledEvents(world, inner, "/short-lived");
        await world.call("DELETE", `/events/v2/subscriptions/${uid}`);
        await world.group(group);
        await settledEvents(world, above, "/above");
        const seen = (path: string) => world.sink.at(path).map(({ headers }) => `${headers["ce-type"]} ${headers["ce-subject"]}`);
        assert.deepEqual(seen("/short-lived"), [`dev.holt.api.events.subscription.created.v1 ${uid}`]);
        assert.deepEqual(seen("/above").slice(2), [
          `dev.holt.api.events.subscription.created.v1 ${uid}`,
          `dev.holt.api.events.subscription.deleted.v1 ${uid}`,
        ]);
      });

      it("two subscriptions with the same sink both receive an event", async () => {
        const group = await world.group(world.orgUid);
        await world.subscribe(group, "/twice");
        await world.subscribe(group, "/twice");
        const made = await world.group(group);
        await world.settle();
        assert.equal(world.sink.at("/twice").filter(({ headers }) => headers["ce-subject"] === made).length, 2);
      });

      it("a subscription receives no earlier events, no events of failed calls and no internal events", async () => {
        const group = await world.group(world.orgUid);
        await world.group(group, "before");
        await world.settle();
        const uid = await world.subscribe(group, "/from-now-on");
        await world.http("POST", `/iam/v2/groups/${group}`, JSON.stringify({ name: "NOT A NAME" }));
        await world.call("PATCH", "/iam/v2/identities:updateIdentityMetadata", { company: "acme" });
        await world.settle();
        assert.deepEqual(
          world.sink.at("/from-now-on").map(({ headers }) => headers["ce-subject"]),
          [uid],
        );
      });

      it("deliveries arrive one at a time in the order of the events, also under concurrent writes", async () => {
        const group = await world.group(world.orgUid);
        await world.subscribe(group, "/ordered");
        await Promise.all(Array.from({ length: 300 }, (_, i) => world.group(group, `g${i}`)));
        const expected = await settledEvents(world, group, "/ordered");
        const arrived = world.sink.at("/ordered");
        assert.equal(expected.length, 301);
        assert.deepEqual(
          arrived.map(({ headers }) => headers["ce-id"]),
          expected.map(({ id }) => id),
        );
        assert.deepEqual(
          arrived.filter(({ concurrent }) => concurrent > 1),
          [],
        );
      });

      it("the delivered bytes are the signed bytes, for all characters", async () => {
        const group = await world.group(world.orgUid);
        await world.subscribe(group, "/characters");
        const repo = await world.call("POST", `/registry/v2/repos/${group}`, { name: "app", description: "“é” <b> & \\ \u2028 🐙" });
        const content = `# ${"Ж 🦑\n".repeat(10_000)}`;
        await world.call("PATCH", `/registry/v2/repos/${repo.uid}/readme`, { content });
        await settledEvents(world, group, "/characters");
        const [, made, readme] = await Promise.all(
          world.sink.at("/characters").map((one) => verifyDelivery(one, { issuer: world.baseUrl, group })),
        );
        assert.equal(made?.body.description, "“é” <b> & \\ \u2028 🐙");
        assert.equal(readme?.body.content, content);
      });

      it("a receiver refuses a delivery after any change", async () => {
        const group = await world.group(world.orgUid);
        await world.subscribe(group, "/tampered");
        await settledEvents(world, group, "/tampered");
        const [received] = world.sink.at("/tampered");
        assert.ok(received);
        const options = { issuer: world.baseUrl, group };
        await verifyDelivery(received, options);
        const refusals: [number, Received, typeof options][] = [
          [400, { ...received, headers: { ...received.headers, "ce-specversion": "0.3" } }, options],
          [400, { ...received, headers: { ...received.headers, "ce-id": "" } }, options],
          [401, { ...received, headers: { ...received.headers, authorization: undefined } }, options],
          [403, { ...received, headers: { ...received.headers, authorization: `Bearer ${world.token}` } }, options],
          [403, { ...received, body: Buffer.concat([received.body, Buffer.from(" ")]) }, options],
          [403, received, { ...options, group: parentOf(group) }],
          [403, received, { ...options, now: new Date(Date.now() + 48 * 3_600_000) } as never],
          [400, { ...received, headers: { ...received.headers, "ce-bodytype": "platform.iam.v2.Role" } }, options],
        ];
        for (const [status, changed, rules] of refusals) {
          await assert.rejects(verifyDelivery(changed, rules), (error) => error instanceof Refusal && error.status === status);
        }
      });
    });
  }
}

/** Types of the events of `makeEveryKind`, without the prefix. */
const kinds = [
  ".api.iam.group.created.v1",
  ".api.iam.group.updated.v1",
  ".api.iam.group.deleted.v1",
  ".api.iam.identity.created.v1",
  ".api.iam.identity.updated.v1",
  ".api.iam.identity.deleted.v1",
  ".api.iam.roles.created.v1",
  ".api.iam.roles.updated.v1",
  ".api.iam.roles.deleted.v1",
  ".api.iam.rolebindings.created.v1",
  ".api.iam.rolebindings.updated.v1",
  ".api.iam.rolebindings.deleted.v1",
  ".api.iam.rolebindings.created.batch.v1",
  ".api.events.subscription.created.v1",
  ".api.events.subscription.deleted.v1",
  ".api.platform.registry.repo.created.v1",
  ".api.platform.registry.repo.updated.v1",
  ".api.platform.registry.repo.deleted.v1",
  ".api.platform.registry.tag.created.v1",
  ".api.platform.registry.tag.deleted.v1",
  ".registry.push.v1",
  ".registry.pull.v1",
];

async function makeEveryKind(world: DeliveryWorld, group: string): Promise<void> {
  const { call } = world;
  const folder = await world.group(group);
  await call("PATCH", `/iam/v2/groups/${folder}`, { description: "changed" });
  const claimMatch = { issuer: "https://issuer.example.com", subject: "robot" };
  const identity = await call("POST", `/iam/v2/identities/${folder}`, { name: "robot", claimMatch });
  await call("PATCH", `/iam/v2/identities/${identity.uid}`, { description: "changed" });
  const role = await call("POST", `/iam/v2/roles/${folder}`, { name: "role", capabilities: ["CAP_IAM_GROUPS_LIST"] });
  await call("PATCH", `/iam/v2/roles/${role.uid}`, { description: "changed" });
  const binding = await call("POST", `/iam/v2/roleBindings/${folder}`, { identityUid: identity.uid, roleUid: role.uid });
  await call("PATCH", `/iam/v2/roleBindings/${binding.uid}`, { roleUid: VIEWER });
  await call("DELETE", `/iam/v2/roleBindings/${binding.uid}`);
  const requests = [uidOf("a"), uidOf("b")].map((identityUid) => ({ roleBinding: { identityUid } }));
  await call("POST", "/iam/v2/roleBindings:batchCreate", { parent: folder, roleUid: VIEWER, requests });
  await call("DELETE", `/iam/v2/roles/${role.uid}`);
  await call("DELETE", `/iam/v2/identities/${identity.uid}`);
  const subscription = await world.subscribe(folder, "/elsewhere");
  await call("DELETE", `/events/v2/subscriptions/${subscription}`);
  await call("DELETE", `/iam/v2/groups/${folder}`);
  await makeRegistryKinds(world, group);
}

async function makeRegistryKinds({ call, baseUrl, token, outbox }: DeliveryWorld, group: string): Promise<void> {
  const repo = await call("POST", `/registry/v2/repos/${group}`, { name: "app" });
  await call("PATCH", `/registry/v2/repos/${repo.uid}`, { description: "changed" });
  await call("PATCH", `/registry/v2/repos/${repo.uid}/readme`, { content: "# App" });
  const tag = await call("POST", `/registry/v2/tags/${repo.uid}`, { name: "1.0", digest: digest("a") });
  await call("DELETE", `/registry/v2/tags/${tag.uid}`);
  using client = createRegistryClient(baseUrl, `Bearer ${token}`);
  const name = repo.uid as string;
  const config = await client.blob(name, JSON.stringify({ architecture: "amd64", os: "linux" }), CONFIG);
  await client.manifest(name, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [] }, "latest");
  await client.send("GET", `${name}/manifests/latest`, { headers: { accept: MANIFEST } });
  await client.send("GET", `${name}/blobs/${config.digest}`);
  await call("DELETE", `/registry/v2/repos/${repo.uid}`);
  // Events of pulls are stored once a second.
  await until(async () => (await outbox()).filter(({ type }) => type.endsWith(".registry.pull.v1")).length === 2);
}

/** Waits until all events are delivered. @returns the events that a subscription of the group receives from its creation on */
async function settledEvents(world: DeliveryWorld, group: string, path: string): Promise<OutboxRow[]> {
  await world.settle();
  const rows = await world.outbox();
  const begin = rows.findIndex(({ data }) => data.includes(`${world.sink.url}${path}"`));
  const expected = rows.slice(begin).filter((row) => `${row.group_uid}/`.startsWith(`${group}/`) && row.audience === "customer");
  await until(() => world.sink.accepted(path).length >= expected.length);
  return expected;
}

async function assertDelivery(
  world: DeliveryWorld,
  received: Received,
  row: OutboxRow,
  { userAgent }: { userAgent: RegExp },
): Promise<void> {
  const event = await verifyDelivery(received, { issuer: world.baseUrl, group: world.orgUid });
  const { id, type, source, subject, time, group_uid, body_type, data } = row;
  const { id: eventId, group, bodyType } = event;
  assert.deepEqual(
    [eventId, event.type, event.source, event.subject, event.time, group, bodyType],
    [id, type, source, subject, time, group_uid, body_type],
  );
  assert.equal(received.body.toString(), data);
  const bodytype = body_type === "" ? {} : { bodytype: body_type };
  const { specversion, audience, ...rest } = event.attributes;
  assert.deepEqual({ specversion, audience }, { specversion: "1.0", audience: "customer" });
  assert.deepEqual(rest, { id, type, source, subject, time, group: group_uid, ...bodytype, ...(JSON.parse(row.extensions) as object) });
  assert.match(String(received.headers["user-agent"]), userAgent);
  for (const name of ["Ce-Specversion", "Ce-Id", "Ce-Type", "Ce-Source", "Ce-Subject", "Ce-Time", "Ce-Group", "Ce-Audience"])
    assert.ok(received.rawHeaders.includes(name), `${name} of ${received.rawHeaders}`);
  assert.equal(received.headers["content-length"], String(received.body.length));
}
