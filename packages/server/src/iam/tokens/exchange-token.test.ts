import assert from "node:assert/strict";
import { test } from "node:test";
import { ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { proofOf, startSts } from "../../../test/harness/aws-sts.ts";
import { API, createFixture, type Fixture, type FixtureOptions, ISSUER } from "../../../test/harness/exchange-fixture.ts";
import { startIssuer, type TestIssuer } from "../../../test/harness/oidc-issuer.ts";
import type { Principal } from "../../access/principal.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { newUid } from "../../lib/uid.ts";
import { decodeCapabilities } from "./capability-encoding.ts";
import { parseNarrowing } from "./narrowing.ts";

const LIST = parseNarrowing([], ["groups.list"]).capabilities ?? 0n;
const BOTH = parseNarrowing([], ["groups.list", "groups.create"]).capabilities ?? 0n;
const CI = { sub: "repo:acme/site", aud: ISSUER };

async function setUp(options: FixtureOptions = {}) {
  const world = await createFixture(options);
  const issuer = await startIssuer({ now: world.clock.now });
  const group = await world.addGroup();
  const robot = await world.addIdentity(group, claimMatch(issuer));
  return {
    world,
    issuer,
    group,
    robot,
    async [Symbol.asyncDispose]() {
      await issuer[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

function claimMatch(issuer: TestIssuer, more: object = {}) {
  return {
    case: "claimMatch",
    value: { iss: { case: "issuer", value: issuer.issuer }, sub: { case: "subject", value: "repo:acme/site" }, ...more },
  } as const;
}

function fails(code: Code, text = /./): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof HoltError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, text);
    return true;
  };
}

async function read(world: Fixture, token: string): Promise<Principal> {
  return world.accessTokens.verify(token, { has: () => true });
}

function capOf(token: string): Record<string, bigint> {
  const { cap } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { cap: Record<string, string> };
  return Object.fromEntries(Object.entries(cap).map(([uid, text]) => [uid, decodeCapabilities(text)]));
}

async function bodyOf(world: Fixture, uid: string): Promise<string> {
  return (await world.store.reader.selectFrom("identity").select("body").where("uid", "=", uid).executeTakeFirstOrThrow()).body;
}

test("a workload's token is exchanged for a token of the identity it names, with the workload as actor", async () => {
  await using s = await setUp();
  await s.world.bind(s.robot, s.group, BOTH);
  const claims = {
    ...CI,
    aud: ["other", "issuer.holt.test"],
    email: "ci@acme.test",
    email_verified: true,
    job_workflow_ref: "acme/site/.github/ci.yml",
    name: "CI",
  };
  const { token, refreshToken } = await s.world.exchangeToken(await s.issuer.sign(claims), { identity: s.robot });
  const principal = await read(s.world, token.token);
  assert.equal(principal.uid, s.robot);
  assert.deepEqual(principal.audience, [API]);
  assert.deepEqual(principal.actor, {
    iss: s.issuer.issuer,
    sub: CI.sub,
    aud: "issuer.holt.test",
    email: "ci@acme.test",
    job_workflow_ref: "acme/site/.github/ci.yml",
  });
  assert.deepEqual([principal.email, principal.emailVerified, principal.upstream], [undefined, false, {}]);
  assert.equal(principal.expiry - principal.issuedAt, 3600);
  assert.deepEqual(capOf(token.token), { [s.group]: BOTH });
  assert.equal(refreshToken, undefined);
});

test("an exchange updates the identity's last-seen time and nothing else", async () => {
  await using s = await setUp();
  const before = JSON.parse(await bodyOf(s.world, s.robot)) as Record<string, unknown>;
  s.world.clock.advance(1234);
  for (const more of [{}, { email: "ceo@acme.test" }, { email: "ceo@acme.test", email_verified: true }]) {
    await s.world.exchangeToken(await s.issuer.sign({ ...CI, ...more }), { identity: s.robot });
    const after = JSON.parse(await bodyOf(s.world, s.robot)) as Record<string, unknown>;
    assert.deepEqual(after, { ...before, lastSeenTime: s.world.clock.now().toISOString() });
    assert.deepEqual(Object.keys(after), Object.keys(before));
  }
});

test("only an issuer for users confirms an email that another identity of this server may require", async () => {
  const people = await startIssuer({ now: () => new Date("2030-01-01T00:00:00Z") });
  await using s = await setUp({ clientIds: ["login"], userIssuers: [people.issuer] });
  const mail = { email: "ceo@acme.test", email_verified: true };
  const claims = { email: mail.email, email_verified: "true" };
  const iss = { case: "issuer", value: ISSUER } as const;
  const sub = { case: "subjectPattern", value: ".*" } as const;
  const target = await s.world.addIdentity(s.group, { case: "claimMatch", value: { iss, sub, claims } });
  const open = await s.world.addIdentity(s.group, { case: "claimMatch", value: { iss, sub } });
  const workload = (await s.world.exchangeToken(await s.issuer.sign({ ...CI, ...mail, name: "CEO" }), { identity: s.robot })).token.token;
  const twice = (await s.world.exchangeToken(workload, { identity: open })).token.token;
  for (const bearer of [workload, twice])
    await assert.rejects(s.world.exchangeToken(bearer, { identity: target }), fails(Code.PERMISSION_DENIED, /invalid "email"/));

  const proof = await people.sign({ sub: "ceo", aud: "login", ...mail, name: "CEO" });
  const uid = await s.world.register(proof);
  for (const identity of ["", uid]) {
    const { token } = await s.world.exchangeToken(proof, { identity });
    const again = await s.world.exchangeToken((await s.world.exchangeToken(token.token, { identity: open })).token.token);
    for (const bearer of [token.token, again.token.token]) {
      const principal = await read(s.world, (await s.world.exchangeToken(bearer, { identity: target })).token.token);
      assert.deepEqual(
        [principal.uid, principal.email, principal.emailVerified, principal.upstream.name],
        [target, mail.email, true, "CEO"],
      );
    }
  }
  assert.match(await bodyOf(s.world, uid), /"email":"ceo@acme.test"/);
  assert.doesNotMatch(await bodyOf(s.world, target), /ceo@acme.test.*lastSeenTime/);
  await people[Symbol.asyncDispose]();
});

test("a mismatch is denied by claim name, and a missing identity gives the same message without contacting an issuer", async () => {
  await using s = await setUp();
  const strict = await s.world.addIdentity(s.group, claimMatch(s.issuer, { claims: { email: "ci@acme.test" } }));
  await assert.rejects(
    s.world.exchangeToken(await s.issuer.sign(CI), { identity: strict }),
    fails(Code.PERMISSION_DENIED, /invalid "email"/),
  );
  await assert.rejects(
    s.world.exchangeToken(await s.issuer.sign({ ...CI, sub: "x" }), { identity: s.robot }),
    fails(Code.PERMISSION_DENIED, /invalid "sub"/),
  );
  await assert.rejects(
    s.world.exchangeToken(await s.issuer.sign({ ...CI, aud: API }), { identity: s.robot }),
    fails(Code.PERMISSION_DENIED, /invalid "aud"/),
  );
  await using other = await startIssuer({ now: s.world.clock.now });
  const errors = [];
  for (const identity of [s.robot, newUid(s.group), "no uid", newUid("")]) {
    errors.push(await s.world.exchangeToken(await other.sign(CI), { identity }).catch((error: HoltError) => error.message));
  }
  assert.equal(new Set(errors).size, 1);
  assert.equal(other.requests, 0);
});

test("exchanging an invalid proof is unauthenticated", async () => {
  await using s = await setUp();
  const seconds = s.world.clock.now().getTime() / 1000;
  const expired = await s.issuer.sign({ ...CI, exp: seconds - 61 });
  for (const bearer of ["", "x", "a.b.c", expired, await s.issuer.sign(CI, { header: { kid: "unknown" } })]) {
    await assert.rejects(s.world.exchangeToken(bearer, { identity: s.robot }), fails(Code.UNAUTHENTICATED));
  }
  await assert.rejects(
    s.world.exchange.prepareExchange(
      { bearer: undefined, aud: [], scopes: [], cap: [], identity: "" },
      s.world.clock.now(),
      s.world.store.reader,
    ),
    fails(Code.UNAUTHENTICATED),
  );
});

test("only audiences of this server can be requested, and the API is the default", async () => {
  await using s = await setUp();
  const bearer = await s.issuer.sign(CI);
  const audienceOf = async (aud: readonly string[]) =>
    (await read(s.world, (await s.world.exchangeToken(bearer, { identity: s.robot, aud })).token.token)).audience;
  assert.deepEqual(await audienceOf([]), [API]);
  assert.deepEqual(await audienceOf(["", "registry.holt.test", "registry.holt.test"]), ["registry.holt.test"]);
  assert.deepEqual(await audienceOf([API, "acme.registry.holt.test"]), [API, "acme.registry.holt.test"]);
  await assert.rejects(audienceOf(["https://elsewhere.test"]), fails(Code.INVALID_ARGUMENT, /aud/));
  await assert.rejects(audienceOf(["customer"]), fails(Code.INVALID_ARGUMENT, /aud/));
});

test("an exchange limits scopes and capabilities, rejects unknown ones, denies invisible scopes and drops missing rights", async () => {
  await using s = await setUp();
  const child = await s.world.addGroup(s.group);
  await s.world.bind(s.robot, s.group, BOTH);
  const bearer = await s.issuer.sign(CI);
  const narrowed = await s.world.exchangeToken(bearer, { identity: s.robot, scopes: [child, child], cap: ["groups.list", "repo.list"] });
  assert.deepEqual(capOf(narrowed.token.token), { [child]: LIST });
  const principal = await read(s.world, narrowed.token.token);
  assert.deepEqual(principal.scopes, [child]);
  await assert.rejects(s.world.exchangeToken(bearer, { identity: s.robot, cap: ["groups.fly"] }), fails(Code.INVALID_ARGUMENT, /cap/));
  await assert.rejects(
    s.world.exchangeToken(bearer, { identity: s.robot, scopes: [await s.world.addGroup()] }),
    fails(Code.PERMISSION_DENIED),
  );
});

test("a Holt token can be exchanged for a narrower token with the same actor, never for a wider or longer one", async () => {
  await using s = await setUp();
  const child = await s.world.addGroup(s.group);
  const below = await s.world.addGroup(child);
  await s.world.bind(s.robot, s.group, LIST);
  await s.world.bind(s.robot, below, BOTH);
  const wide = (await s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot })).token.token;
  s.world.clock.advance(600_000);
  const narrow = (await s.world.exchangeToken(wide, { scopes: [child], aud: ["registry.holt.test"] })).token;
  const principal = await read(s.world, narrow.token);
  assert.deepEqual([principal.uid, principal.actor.sub, principal.audience], [s.robot, CI.sub, ["registry.holt.test"]]);
  assert.equal(narrow.expiry.getTime(), s.world.clock.now().getTime() + 3_000_000);
  const aud = ["registry.holt.test"];
  await assert.rejects(s.world.exchangeToken(narrow.token, { aud, scopes: [s.group] }), fails(Code.PERMISSION_DENIED, /scope/));
  assert.deepEqual(capOf((await s.world.exchangeToken(narrow.token, { aud, identity: s.robot })).token.token), { [child]: LIST });
  assert.deepEqual(capOf((await s.world.exchangeToken(narrow.token, { aud, scopes: [below] })).token.token), { [below]: LIST });
  const capped = (await s.world.exchangeToken(wide, { cap: ["groups.create"] })).token.token;
  assert.deepEqual(capOf((await s.world.exchangeToken(capped, { cap: ["groups.list"] })).token.token), {});
  s.world.clock.advance(3_000_000);
  await assert.rejects(s.world.exchangeToken(narrow.token, { aud }), fails(Code.UNAUTHENTICATED));
});

test("a token for the API can be exchanged for any audience, a token for another service only for that service", async () => {
  await using s = await setUp();
  const open = await s.world.addIdentity(s.group, {
    case: "claimMatch",
    value: { iss: { case: "issuer", value: ISSUER }, sub: { case: "subjectPattern", value: ".*" } },
  });
  const proof = await s.issuer.sign(CI);
  const tokenFor = async (bearer: string, aud: readonly string[], identity = "") =>
    (await s.world.exchangeToken(bearer, { aud, identity })).token.token;
  const api = await tokenFor(proof, [], s.robot);
  const registry = await tokenFor(api, ["registry.holt.test"]);
  for (const identity of ["", s.robot, open]) {
    for (const aud of [["registry.holt.test"], ["https://registry.holt.test"]]) {
      const token = await tokenFor(registry, aud, identity);
      assert.deepEqual((await read(s.world, token)).audience, aud);
      for (const bearer of [registry, token])
        for (const wider of [[], [API], [ISSUER], ["acme.registry.holt.test"], ["registry.holt.test", API]])
          await assert.rejects(tokenFor(bearer, wider, identity), fails(Code.PERMISSION_DENIED, /the token lacks the audience/));
    }
  }
  for (const both of [
    [API, "registry.holt.test"],
    [ISSUER, "registry.holt.test"],
  ])
    await tokenFor(await tokenFor(proof, both, s.robot), [API, "acme.registry.holt.test"]);
});

test("a Holt token assumes another identity only if that identity accepts it, and stays narrowed", async () => {
  await using s = await setUp();
  const accepting = (sub: object) =>
    s.world.addIdentity(s.group, { case: "claimMatch", value: { iss: { case: "issuer", value: ISSUER }, sub } } as never);
  const anybody = await accepting({ case: "subjectPattern", value: "[0-9a-f/]+" });
  const robotOnly = await accepting({ case: "subject", value: s.robot });
  const other = await accepting({ case: "subject", value: newUid("") });
  await s.world.bind(anybody, s.group, BOTH);
  await s.world.bind(s.robot, s.group, BOTH);
  const mine = (await s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot })).token.token;
  for (const identity of [anybody, robotOnly]) {
    const principal = await read(s.world, (await s.world.exchangeToken(mine, { identity })).token.token);
    assert.deepEqual([principal.uid, principal.actor.sub], [identity, CI.sub]);
  }
  await assert.rejects(s.world.exchangeToken(mine, { identity: other }), fails(Code.PERMISSION_DENIED, /invalid "sub"/));
  const narrowed = (await s.world.exchangeToken(mine, { cap: ["groups.list"] })).token.token;
  assert.deepEqual(capOf((await s.world.exchangeToken(narrowed, { identity: anybody })).token.token), { [s.group]: LIST });
});

test("a token of a deleted identity cannot be exchanged", async () => {
  await using s = await setUp();
  const mine = (await s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot })).token.token;
  const anybody = await s.world.addIdentity(s.group, {
    case: "claimMatch",
    value: { iss: { case: "issuer", value: ISSUER }, sub: { case: "subjectPattern", value: ".*" } },
  });
  await s.world.removeIdentity(s.robot);
  for (const identity of ["", s.robot, anybody])
    await assert.rejects(s.world.exchangeToken(mine, { identity }), fails(Code.UNAUTHENTICATED));
  await assert.rejects(s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot }), fails(Code.PERMISSION_DENIED));
});

test("Holt's tokens for other purposes, such as webhook deliveries, cannot be exchanged", async () => {
  await using s = await setUp();
  const content = {
    uid: s.robot,
    actor: { iss: "", sub: "", aud: "" },
    email: undefined,
    emailVerified: false,
    upstream: {},
    scopes: undefined,
    capabilities: undefined,
    lifetimeSeconds: 60,
  };
  const { access } = await s.world.grants.load(s.robot);
  const { token } = await s.world.accessTokens.mint({ ...content, access, audience: ["customer"] }, s.world.clock.now());
  await assert.rejects(s.world.exchangeToken(token), fails(Code.UNAUTHENTICATED, /audience/));
});

test("static keys verify a token offline until they expire, limit its lifetime, and reject everything if malformed", async () => {
  await using s = await setUp();
  const expiry = new Date(s.world.clock.now().getTime() + 1_800_000);
  const staticKeys = (issuerKeys: string) =>
    s.world.addIdentity(s.group, {
      case: "staticKeys",
      value: { issuer: "https://pull.test", subject: "puller", issuerKeys, expirationTime: timestampFromDate(expiry) },
    });
  const puller = await staticKeys(JSON.stringify(await s.issuer.jwks()));
  const year = s.world.clock.now().getTime() / 1000 + 31_536_000;
  const bearer = await s.issuer.sign({ iss: "https://pull.test", sub: "puller", aud: ISSUER, exp: year });
  const { token } = await s.world.exchangeToken(bearer, { identity: puller });
  assert.equal(token.expiry.getTime(), expiry.getTime());
  assert.equal(s.issuer.requests, 0);
  for (const garbage of ["keys", "", "{}", '{"keys":[]}', "[]", "null"]) {
    await assert.rejects(s.world.exchangeToken(bearer, { identity: await staticKeys(garbage) }), fails(Code.UNAUTHENTICATED), garbage);
  }
  await assert.rejects(
    s.world.exchangeToken(await s.issuer.sign({ iss: "https://pull.test", sub: "other", aud: ISSUER }), { identity: puller }),
    fails(Code.PERMISSION_DENIED, /invalid "sub"/),
  );
  s.world.clock.advance(1_800_000);
  await assert.rejects(s.world.exchangeToken(bearer, { identity: puller }), fails(Code.PERMISSION_DENIED, /expired/));
});

test("an AWS proof assumes the identity it was made for", async () => {
  await using sts = await startSts();
  await using s = await setUp({ stsUrl: sts.url });
  const arn = "arn:aws:sts::123456789012:assumed-role/ci/i-1";
  const aws = (awsAccount: string) =>
    s.world.addIdentity(s.group, {
      case: "awsIdentity",
      value: { awsAccount, awsArn: { case: "arn", value: arn }, awsUserId: { case: "userIdPattern", value: "AROA:.*" } },
    });
  const identity = await aws("123456789012");
  const proof = (id: string) => proofOf({ audience: ISSUER, identity: id, date: s.world.clock.now() });
  const principal = await read(s.world, (await s.world.exchangeToken(proof(identity), { identity })).token.token);
  assert.equal(principal.uid, identity);
  assert.deepEqual(principal.actor, {
    iss: "https://sts.amazonaws.com",
    sub: arn,
    aud: ISSUER,
    arn,
    account: "123456789012",
    user_id: "AROA:i-1",
  });
  const foreign = await aws("999999999999");
  await assert.rejects(s.world.exchangeToken(proof(foreign), { identity: foreign }), fails(Code.PERMISSION_DENIED, /invalid "account"/));
  await assert.rejects(s.world.exchangeToken(proof(identity), { identity: foreign }), fails(Code.PERMISSION_DENIED, /another identity/));
  const asked = sts.requests;
  for (const id of [s.robot, newUid(s.group)])
    await assert.rejects(s.world.exchangeToken(proof(id), { identity: id }), fails(Code.PERMISSION_DENIED, /invalid "iss"/));
  await assert.rejects(s.world.exchangeToken(proof("")), fails(Code.UNAUTHENTICATED));
  assert.equal(sts.requests, asked);
  await assert.rejects(s.world.exchangeToken(await s.issuer.sign(CI), { identity }), fails(Code.PERMISSION_DENIED));
});

test("a service principal is assumed only by the subjects that the operator configured", async () => {
  await using issuer = await startIssuer({ now: () => new Date("2030-01-01T00:00:00Z") });
  await using s = await setUp({
    servicePrincipals: new Map([[ServicePrincipal.INGESTER, [{ issuer: issuer.issuer, subject: "ingester" }]]]),
  });
  const ingester = await s.world.addIdentity(s.group, { case: "servicePrincipal", value: ServicePrincipal.INGESTER });
  const cosigned = await s.world.addIdentity(s.group, { case: "servicePrincipal", value: ServicePrincipal.COSIGNED });
  const token = (sub: string) => issuer.sign({ sub, aud: ISSUER });
  assert.equal(
    (await read(s.world, (await s.world.exchangeToken(await token("ingester"), { identity: ingester })).token.token)).uid,
    ingester,
  );
  await assert.rejects(s.world.exchangeToken(await token("other"), { identity: ingester }), fails(Code.PERMISSION_DENIED, /invalid "sub"/));
  const refused = [];
  for (const [proof, identity] of [
    [await token("ingester"), cosigned],
    [await s.issuer.sign({ sub: "ingester", aud: ISSUER }), ingester],
    [await token("ingester"), newUid(s.group)],
  ] as const)
    refused.push(await s.world.exchangeToken(proof, { identity }).catch((error: HoltError) => error.message));
  assert.deepEqual(new Set(refused).size, 1);
  const mine = (await s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot })).token.token;
  for (const identity of [ingester, cosigned])
    await assert.rejects(s.world.exchangeToken(mine, { identity }), fails(Code.PERMISSION_DENIED, /invalid "iss"/));
});

test("an identity of this server acts as a service principal if the operator configured its uid", async () => {
  await using before = await setUp();
  const { robot } = before;
  await using s = await setUp({ servicePrincipals: new Map([[ServicePrincipal.INGESTER, [{ issuer: ISSUER, subject: robot }]]]) });
  const ingester = await s.world.addIdentity(s.group, { case: "servicePrincipal", value: ServicePrincipal.INGESTER });
  const cosigned = await s.world.addIdentity(s.group, { case: "servicePrincipal", value: ServicePrincipal.COSIGNED });
  const mine = (await s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot })).token.token;
  await assert.rejects(s.world.exchangeToken(mine, { identity: ingester }), fails(Code.PERMISSION_DENIED, /invalid "sub"/));
  await assert.rejects(s.world.exchangeToken(mine, { identity: cosigned }), fails(Code.PERMISSION_DENIED, /invalid "iss"/));

  const named = await s.world.addIdentity(s.group, claimMatch(s.issuer), robot);
  const principal = (await s.world.exchangeToken(await s.issuer.sign(CI), { identity: named, cap: ["groups.list"] })).token.token;
  const assumed = await read(s.world, (await s.world.exchangeToken(principal, { identity: ingester })).token.token);
  assert.deepEqual([assumed.uid, assumed.capabilities], [ingester, LIST]);
  // The same subject of another issuer is a different subject.
  const foreign = await s.issuer.sign({ sub: robot, aud: ISSUER });
  await assert.rejects(s.world.exchangeToken(foreign, { identity: ingester }), fails(Code.PERMISSION_DENIED, /invalid "iss"/));
});

test("only the holder of static keys learns that they have expired", async () => {
  await using s = await setUp();
  await using other = await startIssuer({ now: s.world.clock.now });
  const keys = { issuer: "https://pull.test", subject: "puller", issuerKeys: JSON.stringify(await s.issuer.jwks()) };
  const expired = await s.world.addIdentity(s.group, {
    case: "staticKeys",
    value: { ...keys, expirationTime: timestampFromDate(s.world.clock.now()) },
  });
  const valid = await s.world.addIdentity(s.group, { case: "staticKeys", value: keys });
  const messageOf = (bearer: string, identity: string) =>
    s.world.exchangeToken(bearer, { identity }).then(
      () => "",
      (error: HoltError) => error.message,
    );
  const unrelated = await other.sign({ sub: "puller", aud: ISSUER });
  assert.equal(await messageOf(unrelated, expired), await messageOf(unrelated, newUid(s.group)));
  const forged = await other.sign({ iss: "https://pull.test", sub: "puller", aud: ISSUER });
  assert.equal(await messageOf(forged, expired), await messageOf(forged, valid));
  assert.match(await messageOf(await s.issuer.sign({ iss: "https://pull.test", sub: "puller", aud: ISSUER }), expired), /have expired/);
});

test("an identity in root that is not a user's cannot be assumed, whatever its claim match says", async () => {
  await using s = await setUp();
  const ours = { case: "claimMatch", value: { iss: { case: "issuer", value: ISSUER }, sub: { case: "subject", value: s.robot } } } as const;
  const mine = (await s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot })).token.token;
  const [theirOwner, ourOwner] = [await s.world.addIdentity("", claimMatch(s.issuer)), await s.world.addIdentity("", ours)];
  const before = s.issuer.requests;
  for (const [bearer, identity] of [
    [await s.issuer.sign(CI), theirOwner],
    [mine, ourOwner],
    [mine, newUid("")],
  ] as const)
    await assert.rejects(s.world.exchangeToken(bearer, { identity }), fails(Code.PERMISSION_DENIED, /invalid "iss"/));
  assert.equal(s.issuer.requests, before);
});

test("an exchange is unavailable while the issuer is down, so that clients retry", async () => {
  await using s = await setUp();
  s.issuer.setDown(true);
  await assert.rejects(s.world.exchangeToken(await s.issuer.sign(CI), { identity: s.robot }), fails(Code.UNAVAILABLE));
});
