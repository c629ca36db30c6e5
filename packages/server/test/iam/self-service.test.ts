import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { codeOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { assertAbout, assertInvalid, assertRefused } from "../harness/refusal.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const DAY = 24 * 60 * 60 * 1000;
let names = 0;

describeWithWorld("finding an organization by email", (world) => {
  /** A signed-in user whose token has these claims. */
  const person = async (claims: JsonObject): Promise<Caller> => {
    const subject = `person ${++names}`;
    const proof = await world.proofOf(subject, claims);
    await world.raw("POST", "/auth/v1/register", {}, proof);
    return signedIn(subject, proof);
  };
  const signedIn = async (subject: string, proof: string): Promise<Caller> => {
    const { token } = parse((await world.raw("POST", "/sts/exchange", undefined, proof)).text);
    return { uid: world.userUid(subject), token: textOf(token) };
  };
  const employee = (domain: string) => person({ email: `Ann@${domain}`, email_verified: true });
  const organization = async (name: string, fields: JsonObject = { verified: true, kind: "ORG_KIND_CUSTOMER" }): Promise<string> =>
    textOf(parse((await world.raw("POST", "/iam/v2/groups", { name, ...fields })).text).uid);
  const domain = () => `acme${++names}.example.com`;
  const lookup = ({ token }: Caller) => world.raw("GET", "/iam/v2/groups:lookupGroup", undefined, token);
  const ask = ({ token }: Caller, uid: string) => world.raw("POST", `/iam/v2/groups/${uid}:requestGroupAccess`, {}, token);
  const isEligible = async ({ token }: Caller) =>
    parse((await world.raw("GET", "/iam/v2/groups:checkEligibility", undefined, token)).text).eligible;

  it("an organization is found by the domain of a verified email, ignoring case", async () => {
    const name = domain();
    const uid = await organization(name);
    for (const caller of [await employee(name), await employee(name.toUpperCase())]) {
      const answer = await lookup(caller);
      assert.equal(answer.status, 200, answer.text);
      const { group } = parse(answer.text) as { group: JsonObject };
      assert.deepEqual([group.uid, group.name, group.verified], [uid, name, true]);
      assert.equal(await isEligible(caller), true);
    }
  });

  it("the search fails with one error whatever is missing, and says whether it could succeed", async () => {
    const name = domain();
    const uid = await organization(name);
    await organization(`plain.${name}`, {});
    await organization("gmail.com");
    const email = `ann@${name}`;
    const robot = await world.robot(world.orgUid);
    const cases: readonly (readonly [string, Caller, boolean])[] = [
      ["no such organization", await employee(domain()), true],
      ["one that nobody verified", await employee(`plain.${name}`), true],
      ["a part of the domain", await employee(`mail.${name}`), true],
      ["an address within an address", await person({ email: `"ann@${name}"@other.example.com`, email_verified: true }), true],
      ["free mail", await employee("gmail.com"), false],
      ["an email that is not verified", await person({ email, email_verified: false }), false],
      ["an email without email_verified", await person({ email }), false],
      ["no email", await person({}), false],
      ["a string that is not an email", await person({ email: name, email_verified: true }), false],
      ["an email with a NUL character", await person({ email: `a\0nn@${name}`, email_verified: true }), false],
      ["an overlong email", await person({ email: `${"a".repeat(400)}@${name}`, email_verified: true }), false],
      ["a workload", robot, false],
      ["the bootstrap owner", world.owner, false],
    ];
    const answers = new Set<string>();
    for (const [title, caller, eligible] of cases) {
      for (const answer of [await lookup(caller), await ask(caller, uid)]) {
        assertAbout(answer, Code.NOT_FOUND, "Group");
        answers.add(answer.text);
      }
      assert.equal(await isEligible(caller), eligible, title);
    }
    assert.equal(answers.size, 1);
    const employed = await employee(name);
    assert.equal((await ask(employed, newUid(""))).text, [...answers][0]);
    assert.equal((await ask(employed, "nonsense")).text, [...answers][0]);
  });

  it("an email vouched for by an organization's own provider is not believed", async () => {
    const name = domain();
    const uid = await organization(name);
    await using issuer = await startIssuer({ now: world.clock.now });
    const mine = await organization(domain());
    const oidc = { issuer: issuer.issuer, clientId: "holt", clientSecret: "secret" };
    const body = { name: "ours", defaultRole: await builtInRole(world, "viewer"), oidc };
    const provider = await world.raw("POST", `/iam/v2/identityProviders/${mine}`, body);
    assert.equal(provider.status, 200, provider.text);
    const proof = await issuer.sign({ sub: "eve", aud: "holt", email: `eve@${name}`, email_verified: true });
    assert.equal((await world.raw("POST", "/auth/v1/register", {}, proof)).status, 200);
    const answer = await world.raw("POST", "/sts/exchange", undefined, proof);
    assert.equal(answer.status, 200, answer.text);
    const eve = { uid: "", token: textOf(parse(answer.text).token) };
    assert.equal(await isEligible(eve), false);
    for (const refused of [await lookup(eve), await ask(eve, uid)]) assertRefused(refused, Code.NOT_FOUND);
  });

  it("a user can request access to an organization once a day", async () => {
    const name = domain();
    const uid = await organization(name);
    const [ann, bob] = [await employee(name), await employee(name)];
    const requests = () => world.store.reader.selectFrom("access_request").selectAll().where("group_uid", "=", uid).execute();
    assert.equal((await ask(ann, uid)).status, 200);
    const again = await ask(ann, uid);
    assert.equal(again.status, 429, again.text);
    assert.equal(again.headers["retry-after"], String(DAY / 1000));
    assert.equal((await ask(bob, uid)).status, 200);
    assert.equal((await requests()).length, 2);
    assert.deepEqual(
      (await requests()).find(({ identity_uid }) => identity_uid === ann.uid),
      { group_uid: uid, identity_uid: ann.uid, email: `Ann@${name}`, create_time: world.clock.now().toISOString() },
    );
    const overGrpc = await world.grpc.call(GroupsService.method.requestGroupAccess, { groupUid: uid }, ann.token);
    assert.equal(codeOf(overGrpc), Code.RESOURCE_EXHAUSTED);
    // A request alone gives no rights.
    assertRefused(await world.raw("GET", `/iam/v2/groups/${uid}`, undefined, ann.token), Code.PERMISSION_DENIED);
  });

  it("a user can request access again after exactly a day", async () => {
    const name = domain();
    const uid = await organization(name);
    const claims = { email: `cy@${name}`, email_verified: true };
    const subject = `person ${++names}`;
    await world.raw("POST", "/auth/v1/register", {}, await world.proofOf(subject, claims));
    const askNow = async () => (await ask(await signedIn(subject, await world.proofOf(subject, claims)), uid)).status;
    assert.equal(await askNow(), 200);
    world.clock.advance(DAY - 1000);
    assert.equal(await askNow(), 429);
    world.clock.advance(1000);
    assert.equal(await askNow(), 200);
    assert.equal(await askNow(), 429);
    world.clock.advance(-DAY);
  });

  it("one of several concurrent requests for access is recorded", async () => {
    const name = domain();
    const uid = await organization(name);
    const ann = await employee(name);
    const answers = await Promise.all([1, 2, 3, 4].map(() => ask(ann, uid)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 429, 429, 429]);
  });

  it("a request for access needs the uid of an organization and emits no event to subscribers", async () => {
    const name = domain();
    const uid = await organization(name);
    const ann = await employee(name);
    const outcome = await world.grpc.call(GroupsService.method.requestGroupAccess, {}, ann.token);
    assert.equal(codeOf(outcome), Code.INVALID_ARGUMENT);
    assertInvalid(await world.raw("POST", "/iam/v2/groups/:requestGroupAccess", {}, ann.token), "group_uid");
    const events = () => world.store.reader.selectFrom("outbox").select("seq").orderBy("seq").execute();
    const before = (await events()).length;
    assert.equal((await ask(ann, uid)).status, 200);
    assert.equal((await events()).length, before);
  });

  it("requests for access are deleted with the organization and do not block its deletion", async () => {
    const name = domain();
    const uid = await organization(name);
    const ann = await employee(name);
    assert.equal((await ask(ann, uid)).status, 200);
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${uid}`)).status, 200);
    assertRefused(await lookup(ann), Code.NOT_FOUND);
  });
});
