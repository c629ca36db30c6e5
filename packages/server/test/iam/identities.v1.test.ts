import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Identities } from "@holt/api/gen/platform/iam/v1/identities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { builtInRole, unreachableOidc } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { assertInvalid } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("identities of version 1", (world) => {
  const path = "/iam/v1/identities";
  const list = async (query: string) => parse((await world.raw("GET", `${path}?${query}`)).text).items as JsonObject[];
  const static_ = { issuer: "https://keys.example.com", subject: "robot", issuerKeys: "keys", audiences: ["holt"] };

  it("an identity agrees with version 2 in its times and its relationship", async () => {
    const created = parse((await world.raw("POST", `${path}/${world.orgUid}`, { name: "robot", static: static_ })).text);
    const v2 = parse((await world.raw("GET", `/iam/v2/identities/${textOf(created.id)}`)).text);
    const { expirationTime, ...keys } = v2.staticKeys as JsonObject;
    assert.deepEqual(created, {
      id: v2.uid as JsonValue,
      name: "robot",
      description: "",
      createdAt: v2.createTime as JsonValue,
      updatedAt: v2.updateTime as JsonValue,
      lastSeen: v2.lastSeenTime as JsonValue,
      static: { ...keys, expiration: expirationTime as JsonValue },
    });
    assert.deepEqual(Object.keys(created.static as JsonObject), ["issuer", "subject", "issuerKeys", "expiration", "audiences"]);
    assert.deepEqual(await list(`id=${textOf(created.id)}`), [created]);
  });

  it("an update replaces the whole relationship, and fields that version 1 does not have stay", async () => {
    const body = { name: "worker", company: "acme", servicePrincipal: "SERVICE_PRINCIPAL_INGESTER" };
    const { uid } = parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, body)).text);
    const [shown] = await list(`id=${textOf(uid)}`);
    assert.equal(shown?.servicePrincipal, "INGESTER");
    const put = async (change: JsonObject) => world.raw("PUT", `${path}/${textOf(uid)}`, { name: "worker", ...change });
    assert.equal(parse((await put({ servicePrincipal: "COSIGNED" })).text).servicePrincipal, "COSIGNED");
    const claimMatch = { issuer: "https://issuer.example.com", subjectPattern: "repo:.*", claims: { b: "1", a: "2" } };
    const changed = parse((await put({ claimMatch })).text);
    assert.equal(changed.servicePrincipal, undefined);
    assert.deepEqual(changed.claimMatch, { ...claimMatch, claimPatterns: {} });
    const v2 = parse((await world.raw("GET", `/iam/v2/identities/${textOf(uid)}`)).text);
    assert.deepEqual([v2.company, v2.claimMatch], ["acme", changed.claimMatch]);
    assert.equal((await put({})).status, 400);
  });

  it("violations name the fields as version 1 does", async () => {
    const past = { ...static_, expiration: "2001-01-01T00:00:00Z" };
    const answer = await world.raw("POST", `${path}/${world.orgUid}`, { name: "robot", static: past });
    assertInvalid(answer, "static.expiration");
    assert.match(textOf(parse(answer.text).message), /static\.expiration: expiration must be in the future$/);
    const binding = await world.raw("POST", `/iam/v1/rolebindings/${world.orgUid}`, { role: await builtInRole(world, "viewer") });
    assertInvalid(binding, "identity");
    const claimMatch = { issuer: "x", subject: "s", claimPatterns: { ref: "(" } };
    assertInvalid(
      await world.raw("POST", `${path}/${world.orgUid}`, { name: "robot", claimMatch }),
      "claim_match.issuer",
      "claim_match.claim_patterns.ref",
    );
  });

  it("lookup finds registered users only, and shows callers without rights no more than they asked with", async () => {
    const subject = "Someone@example.com";
    const find = (token: string, client = world.rest) => client.call(Identities.method.lookup, { issuer: world.issuer, subject }, token);
    assert.equal(codeOf(await find(world.owner.token)), Code.NOT_FOUND);
    const user = await world.user(subject);
    const stranger = await world.robot(world.orgUid);
    for (const client of [world.rest, world.grpc]) {
      const found = answerOf(await find(stranger.token, client));
      assert.deepEqual([found.id, found.name, found.createdAt, found.lastSeen], [user.uid, "someone-example.com", undefined, undefined]);
      const own = answerOf(await find(user.token, client));
      assert.ok(own.id === user.uid && own.createdAt !== undefined);
    }
    const query = `issuer=${world.issuer}&subject=${subject}`;
    const { createdAt, lastSeen } = parse((await world.raw("GET", `${path}/lookup?${query}`, undefined, stranger.token)).text);
    assert.deepEqual([createdAt, lastSeen], [null, null]);
    assertInvalid(await world.raw("GET", `${path}/lookup?issuer=${world.issuer}`), "subject");
  });

  it("users appear in lists as in version 2", async () => {
    const user = await world.user();
    const group = await world.group(world.orgUid, "people");
    await world.bind(user.uid, await world.role(group, [Capability.CAP_REPO_LIST]), group);
    assert.deepEqual(await list(`id=${user.uid}`), []);
    await world.join(user, group);
    assert.deepEqual(
      (await list(`id=${user.uid}`)).map(({ id }) => id),
      [user.uid],
    );
  });
});

describeWithWorld("identity providers of version 1", (world) => {
  const path = "/iam/v1/identityProviders";
  const secretive = { ...unreachableOidc, clientSecret: "the secret of a client" };
  const post = (parent: string, rest: JsonObject = {}) => world.raw("POST", `${path}/${parent}`, { name: "sso", oidc: secretive, ...rest });
  const oidcIn = (answer: JsonObject | undefined) => answer?.oidc as JsonObject;

  it("a provider may have no default role, and keeps its secret when an update has none", async () => {
    const organization = await world.group("", "sso");
    const seq = await lastSeq(world);
    const created = parse((await post(organization)).text);
    assert.deepEqual([created.defaultRole, oidcIn(created).clientSecret], ["", ""]);
    assert.ok(!JSON.stringify(await eventsAfter(world, seq)).includes(secretive.clientSecret));
    const oidc = { ...unreachableOidc, clientSecret: "", additionalScopes: ["b", "a"] };
    const body = { name: "renamed", defaultRole: await builtInRole(world, "viewer"), oidc };
    const put = await world.raw("PUT", `${path}/${textOf(created.id)}`, body);
    assert.deepEqual(oidcIn(parse(put.text)).additionalScopes, ["b", "a"]);
    assert.equal(parse((await world.raw("PUT", `${path}/${textOf(created.id)}`, { name: "renamed", oidc })).text).defaultRole, "");
    const { items } = parse((await world.raw("GET", `${path}?name=renamed&uidp.childrenOf=${organization}`)).text);
    assert.deepEqual(
      (items as JsonObject[]).map(({ id }) => id),
      [created.id],
    );
    assertInvalid(
      await world.raw("POST", `/iam/v2/identityProviders/${organization}`, { name: "sso", oidc: unreachableOidc }),
      "default_role",
    );
  });

  it("SCIM tokens are issued, replaced and revoked as in version 2, and no event has them", async () => {
    const id = textOf(parse((await post(await world.group("", "scim"))).text).id);
    const seq = await lastSeq(world);
    const call = async (verb: string, body: JsonObject = {}) => parse((await world.raw("POST", `${path}/${id}:${verb}`, body)).text);
    const first = await call("generateScimToken", { neverExpires: true });
    assert.equal(first.identityProviderId, id);
    const second = await call("regenerateScimToken", { etag: first.etag as string, overlap: "60s" });
    assert.equal(second.requestedOverlap, "60s");
    const [listed] = parse((await world.raw("GET", `${path}?id=${id}`)).text).items as JsonObject[];
    assert.equal((listed as { scim?: JsonObject }).scim?.etag, second.etag);
    assert.equal((await call("setScimEnabled", { enabled: false, etag: second.etag as string })).etag, second.etag);
    assert.ok((await call("revokeScimToken")).revokeTime);
    const events = await eventsAfter(world, seq);
    assert.deepEqual(
      events.map(({ subject }) => subject),
      [id, id, id],
    );
    for (const { token } of [first, second]) assert.ok(token !== "" && !JSON.stringify(events).includes(textOf(token)));
  });
});
