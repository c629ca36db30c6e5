/** Tests every endpoint that accepts tokens with every kind of token that it must reject. */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { CompactSign, importJWK, type JWK } from "jose";
import { newUid } from "../../src/lib/uid.ts";
import { type ProofOptions, proofOf, startSts, type TestSts } from "../harness/aws-sts.ts";
import { codeOf } from "../harness/clients.ts";
import { type Corpus, forgedTokens, part, signAs } from "../harness/forged-tokens.ts";
import { storeNames } from "../harness/harness.ts";
import { startIssuer, type TestIssuer } from "../harness/oidc-issuer.ts";
import { basic } from "../harness/registry/registry-client.ts";
import { startWorld, type World } from "../harness/world.ts";

/** Sends the token and returns whether it was accepted. */
type Endpoint = (token: string) => Promise<boolean>;
type Endpoints = Readonly<Record<string, Endpoint>>;

for (const store of storeNames) {
  describe(`tokens at every endpoint on ${store}`, () => {
    let issuer: TestIssuer;
    let other: TestIssuer;
    let sts: TestSts;
    let world: World;
    let robot: string;
    let aws: string;
    const claims = () => ({ sub: "alice", aud: world.baseUrl });

    before(async () => {
      issuer = await startIssuer();
      other = await startIssuer();
      sts = await startSts();
      world = await startWorld({ store, env: { HOLT_USER_ISSUERS: issuer.issuer, HOLT_AWS_STS_URL: sts.url } });
      const make = async (relationship: object): Promise<string> => {
        const identity = { name: "robot", relationship } as never;
        const { uid } = await world.must(IdentitiesService.method.createIdentity, { parent: world.orgUid, identity });
        await world.bind(uid, await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]), world.orgUid);
        return uid;
      };
      const match = { iss: { case: "issuer", value: issuer.issuer }, sub: { case: "subject", value: "alice" } };
      robot = await make({ case: "claimMatch", value: match });
      aws = await make({
        case: "awsIdentity",
        value: {
          awsAccount: "123456789012",
          awsArn: { case: "arnPattern", value: ".*" },
          awsUserId: { case: "userIdPattern", value: ".*" },
        },
      });
      await world.must(Auth.method.register, {}, await issuer.sign(claims()));
    });
    after(async () => {
      await world[Symbol.asyncDispose]();
      for (const server of [issuer, other, sts]) await server[Symbol.asyncDispose]();
    });

    const httpEndpoint =
      (path: string, headersOf: (token: string) => Record<string, string>, method = "GET", bodyOf?: (token: string) => string): Endpoint =>
      async (token) => {
        const { status, text } = await world.http(method, path, bodyOf?.(token), headersOf(token));
        assert.ok(status < 500, `${status} ${text}`);
        return status < 300;
      };
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const grpcEndpoint =
      (method: typeof SecurityTokenService.method.exchange, request: object): Endpoint =>
      async (token) => {
        // No header can contain it, so the client does not send it.
        if (!/^[\x20-\x7e]*$/.test(token)) return false;
        const code = codeOf(await world.grpc.call(method, request as never, token));
        assert.ok(![2, 13].includes(code), `code ${code}`);
        return code === 0;
      };
    const form = (fields: (token: string) => Record<string, string>) => (token: string) => new URLSearchParams(fields(token)).toString();

    /** Endpoints that accept proofs for the identity. */
    const proofEndpoints = (identity: string): Endpoints => ({
      "POST /sts/exchange": httpEndpoint(`/sts/exchange?identity=${identity}`, bearer, "POST"),
      "GET /sts/exchange": httpEndpoint(`/sts/exchange?identity=${identity}`, bearer),
      "Exchange over gRPC": grpcEndpoint(SecurityTokenService.method.exchange, { identity }),
      "a password at /v2/": httpEndpoint("/v2/", (token) => ({ authorization: basic(identity, token) })),
      "a password at GET /token": httpEndpoint("/token", (token) => ({ authorization: basic(identity, token) })),
      "a password at POST /token": httpEndpoint(
        "/token",
        () => ({}),
        "POST",
        form((password) => ({ grant_type: "password", username: identity, password })),
      ),
    });
    const personEndpoints = (): Endpoints => ({
      "POST /sts/exchange for oneself": httpEndpoint("/sts/exchange", bearer, "POST"),
      "Exchange for oneself over gRPC": grpcEndpoint(SecurityTokenService.method.exchange, {}),
      "POST /auth/v1/register": httpEndpoint("/auth/v1/register", bearer, "POST", () => "{}"),
      "Register over gRPC": grpcEndpoint(Auth.method.register as never, {}),
    });
    /** Endpoints that accept access tokens. */
    const tokenEndpoints = (): Endpoints => ({
      "the API over REST": httpEndpoint("/iam/v2/groups", bearer),
      "the API over gRPC": grpcEndpoint(GroupsService.method.listGroups as never, {}),
      "GET /auth/v1/ok": httpEndpoint("/auth/v1/ok", bearer),
      "POST /sts/exchange": httpEndpoint("/sts/exchange", bearer, "POST"),
      "Exchange over gRPC": grpcEndpoint(SecurityTokenService.method.exchange, {}),
      "a bearer at /v2/": httpEndpoint("/v2/", bearer),
      "a password at /v2/": httpEndpoint("/v2/", (token) => ({ authorization: basic("_token", token) })),
      "a bearer at /token": httpEndpoint("/token", bearer),
      "a refresh at POST /token": httpEndpoint(
        "/token",
        () => ({}),
        "POST",
        form((token) => ({ grant_type: "refresh_token", refresh_token: token })),
      ),
    });
    const refreshEndpoints = (): Endpoints => ({
      "POST /sts/exchange_refresh_token": httpEndpoint("/sts/exchange_refresh_token", bearer, "POST"),
      "ExchangeRefreshToken over gRPC": grpcEndpoint(SecurityTokenService.method.exchangeRefreshToken as never, {}),
    });

    /** @returns the number of refused attempts */
    async function assertRefused(corpus: Corpus, endpoints: Endpoints): Promise<number> {
      let refused = 0;
      for (const [why, token] of Object.entries(corpus)) {
        for (const [name, endpoint] of Object.entries(endpoints)) {
          // A token that no header can contain reaches only endpoints that take it elsewhere.
          const isAccepted = await endpoint(token).catch((error: NodeJS.ErrnoException) => {
            if (error.code === "ERR_INVALID_CHAR" || /header/i.test(error.message)) return false;
            throw new Error(`${why}, at ${name}`, { cause: error });
          });
          assert.equal(isAccepted, false, `${why}, at ${name}`);
          refused++;
        }
      }
      return refused;
    }

    async function assertAccepted(token: string, endpoints: Endpoints): Promise<void> {
      for (const [name, endpoint] of Object.entries(endpoints)) assert.equal(await endpoint(token), true, name);
    }

    it("a valid token of another issuer is accepted, and every forged, malformed or expired one is refused", async () => {
      const good = await issuer.sign(claims());
      const endpoints = [proofEndpoints(robot), personEndpoints()];
      for (const each of endpoints) await assertAccepted(good, each);
      const corpus = await forgedTokens(issuer, other, claims(), world.clock.now());
      assert.ok(Object.keys(corpus).length > 150);
      for (const each of endpoints) assert.ok((await assertRefused(corpus, each)) > 600);
      const { "POST /sts/exchange": _rest, "Exchange over gRPC": _grpc, ...api } = tokenEndpoints();
      await assertRefused({ "a token of another issuer": good }, { ...api, ...refreshEndpoints() });
      assert.equal(other.requests, 0);
      for (const each of endpoints) await assertAccepted(good, each);
    });

    it("a token for another audience or without an audience is refused", async () => {
      const { baseUrl } = world;
      const audiences: Record<string, unknown> = {
        missing: undefined,
        null: null,
        empty: "",
        "an empty list": [],
        "a list of nothing": [""],
        "a number": 7,
        true: true,
        "an object": { [baseUrl]: 1 },
        "a list in a list": [[baseUrl]],
        "a list of an object": [{ aud: baseUrl }],
        another: "https://elsewhere.test",
        "in capitals": baseUrl.toUpperCase(),
        "with a path": `${baseUrl}/v2`,
        "with a user": baseUrl.replace("://", "://user@"),
        "with more behind it": `${baseUrl}.evil.test`,
        "with a space": `${baseUrl} `,
        "two in one text": `${baseUrl},https://elsewhere.test`,
        "a pattern": "*",
        "the registry's": `${baseUrl}/v2`,
        "an exchange's": `${baseUrl}/sts/exchange`,
        "that of deliveries": "customer",
      };
      const corpus: Record<string, string> = {};
      for (const [why, aud] of Object.entries(audiences)) corpus[why] = await issuer.sign({ ...claims(), aud });
      for (const endpoints of [proofEndpoints(robot), personEndpoints()]) await assertRefused(corpus, endpoints);
      await assertAccepted(await issuer.sign({ ...claims(), aud: ["https://elsewhere.test", baseUrl] }), proofEndpoints(robot));
    });

    it("tokens signed with weak, secret or unsuitable keys are refused", async () => {
      const strong = generateKeyPairSync("rsa", { modulusLength: 2048 });
      const jwk = (object: KeyObject): JWK => object.export({ format: "jwk" });
      const weak = generateKeyPairSync("rsa", { modulusLength: 1024 });
      const bitcoin = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
      const sets: Record<string, { set: unknown; key: KeyObject; alg?: string }> = {
        "1024 bits": { set: [jwk(weak.publicKey)], key: weak.privateKey },
        "for encryption": { set: [{ ...jwk(strong.publicKey), use: "enc" }], key: strong.privateKey },
        "for other operations": { set: [{ ...jwk(strong.publicKey), key_ops: ["wrapKey"] }], key: strong.privateKey },
        "for another algorithm": { set: [{ ...jwk(strong.publicKey), alg: "PS256" }], key: strong.privateKey },
        "of another type": { set: [{ ...jwk(strong.publicKey), kty: "EC" }], key: strong.privateKey },
        "of a curve that is not accepted": { set: [jwk(bitcoin.publicKey)], key: bitcoin.privateKey, alg: "ES256K" },
        "of such a curve under another name": { set: [{ ...jwk(bitcoin.publicKey), crv: "P-256" }], key: bitcoin.privateKey, alg: "ES256" },
        "with an exponent of one": { set: [{ ...jwk(strong.publicKey), e: "AQ" }], key: strong.privateKey },
        "with another key id": { set: [{ ...jwk(strong.publicKey), kid: "another" }], key: strong.privateKey },
        none: { set: [], key: strong.privateKey },
        "no list": { set: jwk(strong.publicKey), key: strong.privateKey },
      };
      const seconds = Math.floor(world.clock.now().getTime() / 1000);
      const payload = { iss: "https://keys.test", sub: "a", aud: world.baseUrl, iat: seconds, exp: seconds + 600 };
      const identityWith = async (set: unknown): Promise<string> => {
        const value = { issuer: "https://keys.test", subject: "a", issuerKeys: JSON.stringify({ keys: set }) };
        const identity = { name: "keys", relationship: { case: "staticKeys", value } } as const;
        return (await world.must(IdentitiesService.method.createIdentity, { parent: world.orgUid, identity })).uid;
      };
      for (const [why, { set, key: secret, alg = "RS256" }] of Object.entries(sets)) {
        const endpoints = proofEndpoints(await identityWith(set));
        await assertRefused({ [why]: signAs(secret, { alg, kid: "mine" }, payload) }, endpoints);
      }
      await assertAccepted(
        signAs(strong.privateKey, { alg: "RS256", kid: "mine" }, payload),
        proofEndpoints(await identityWith([jwk(strong.publicKey)])),
      );
    });

    it("tokens that this server signed for other purposes, or only seems to have signed, are refused", async () => {
      const { privateJwk, kid } = await signingKey(world);
      const sign = async (payload: object, header: object = {}) =>
        new CompactSign(Buffer.from(JSON.stringify(payload)))
          .setProtectedHeader({ alg: "RS256", kid, ...header })
          .sign((await importJWK(privateJwk, (header as { alg?: string }).alg ?? "RS256")) as never);
      const seconds = Math.floor(world.clock.now().getTime() / 1000);
      const good = { iss: world.baseUrl, sub: robot, aud: world.baseUrl, act: {}, iat: seconds, exp: seconds + 600 };
      await assertAccepted(await sign(good), tokenEndpoints());
      const variants: Record<string, object> = {
        "of a delivery": { ...good, sub: `webhook:${newUid("")}`, aud: "customer", act: undefined },
        "of a delivery, with an actor": { ...good, sub: `webhook:${newUid("")}` },
        "of a delivery, for the API": { ...good, sub: `webhook:${newUid("")}`, act: undefined },
        "for customers": { ...good, aud: "customer" },
        "of a sign-in": { ...good, aud: `${world.baseUrl}/sts/exchange`, act: undefined },
        "without an actor": { ...good, act: undefined },
        "with an actor that is text": { ...good, act: "me" },
        "without a subject": { ...good, sub: undefined },
        "of a subject that is a name": { ...good, sub: "owner" },
        "of a subject that is a path": { ...good, sub: `${robot}/..` },
        "of a subject in capitals": { ...good, sub: robot.toUpperCase() },
        "of an identity that there is not": { ...good, sub: newUid(world.orgUid) },
        "of a group": { ...good, sub: world.orgUid },
        "without an expiry": { ...good, exp: undefined },
        "with an expiry that is text": { ...good, exp: String(seconds + 600) },
        "that has just expired": { ...good, exp: seconds },
        "without an issue time": { ...good, iat: undefined },
        "of the future": { ...good, iat: seconds + 62 },
        "without an audience": { ...good, aud: undefined },
        "for a list of nobody": { ...good, aud: [] },
        "for an object": { ...good, aud: { [world.baseUrl]: 1 } },
        "of an issuer with a slash": { ...good, iss: `${world.baseUrl}/` },
        "of an issuer in capitals": { ...good, iss: world.baseUrl.toUpperCase() },
        "with a narrowing that is none": { ...good, narrow: "all" },
        "with scopes that are none": { ...good, narrow: { scopes: world.orgUid } },
        "with capabilities that are none": { ...good, narrow: { cap: "groups.list" } },
        "with a session that is none": { ...good, idp: world.orgUid },
        "with access that is none": { ...good, access: "repository:*:*" },
      };
      const corpus: Record<string, string> = {
        "signed by another algorithm": await sign(good, { alg: "PS256" }),
        "signed with another key id": await sign(good, { kid: "another" }),
        "signed without a key id": await sign(good, { kid: undefined }),
        "signed, with a critical member": `${part({ alg: "RS256", kid, crit: ["b64"], b64: true })}.${(await sign(good)).split(".").slice(1).join(".")}`,
        "signed by another key": signAs(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, { alg: "RS256", kid }, good),
        "signed by another issuer": await issuer.sign(good),
        "signed by another issuer under our key id": await issuer.sign(good, { header: { kid } }),
        "not signed": `${part({ alg: "none", kid })}.${part(good)}.`,
      };
      for (const [why, payload] of Object.entries(variants)) corpus[why] = await sign(payload);
      await assertRefused(corpus, tokenEndpoints());
      await assertRefused(corpus, proofEndpoints(robot));
      await assertRefused(
        { ...corpus, "a good one": await sign(good) },
        { ...refreshEndpoints(), register: personEndpoints()["POST /auth/v1/register"]! },
      );
    });

    it("access tokens, refresh tokens and registry tokens are accepted only where they belong", async () => {
      const exchanged = JSON.parse((await world.raw("POST", "/sts/exchange", "", await issuer.sign(claims()))).text);
      const { token: access, refreshToken: refresh } = exchanged as { token: string; refreshToken: string };
      const registry = JSON.parse((await world.http("GET", "/token", undefined, bearer(access))).text).token as string;
      await assertAccepted(access, tokenEndpoints());
      const endpointsExcept = (...others: string[]) =>
        Object.fromEntries(Object.entries(tokenEndpoints()).filter(([name]) => !others.includes(name)));
      await assertRefused({ refresh }, { ...endpointsExcept("a refresh at POST /token"), ...proofEndpoints(robot), ...personEndpoints() });
      await assertRefused({ access }, refreshEndpoints());
      assert.equal(await tokenEndpoints()["a bearer at /v2/"]?.(registry), true);
      const atRegistry = ["a bearer at /v2/", "a password at /v2/", "a bearer at /token", "a refresh at POST /token"];
      await assertRefused(
        { registry },
        { ...endpointsExcept(...atRegistry), ...refreshEndpoints(), ...proofEndpoints(robot), ...personEndpoints() },
      );

      const [first, second] = Object.values(refreshEndpoints());
      assert.equal(await first?.(refresh), true);
      assert.equal(await second?.(refresh), false);
      assert.equal(await first?.(refresh), false);
    });

    it("tokens of a deleted identity are refused", async () => {
      const gone = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
      await assertAccepted(gone.token, tokenEndpoints());
      const registry = JSON.parse((await world.http("GET", "/token", undefined, bearer(gone.token))).text).token as string;
      const proof = await world.robotProof();
      await assertAccepted(proof, proofEndpoints(gone.uid));
      await world.must(IdentitiesService.method.deleteIdentity, { uid: gone.uid });
      await assertRefused({ "of a deleted identity": gone.token, "for the registry, of a deleted identity": registry }, tokenEndpoints());
      await assertRefused({ "a proof for a deleted identity": proof }, proofEndpoints(gone.uid));
    });

    it("AWS proofs that were changed, are for another server or identity, or are too old or too new are refused", async () => {
      const options = (more: Partial<ProofOptions> = {}): ProofOptions => ({
        audience: world.baseUrl,
        identity: aws,
        date: world.clock.now(),
        ...more,
      });
      const endpoints = proofEndpoints(aws);
      await assertAccepted(proofOf(options()), endpoints);
      const asked = sts.requests;
      const minutes = (count: number) => new Date(world.clock.now().getTime() + count * 60_000);
      const line = (target: string) => ({ requestLine: `POST ${target} HTTP/1.1` });
      const signed = ["host", "x-amz-date", "holt-audience", "holt-identity"];
      const mutations: Record<string, Partial<ProofOptions>> = {
        "of another method": { requestLine: "GET /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1" },
        "of another action": line("/?Action=AssumeRole&Version=2011-06-15"),
        "of a second action": line("/?Action=GetCallerIdentity&Version=2011-06-15&Action=AssumeRole"),
        "to another path": line("/elsewhere?Action=GetCallerIdentity&Version=2011-06-15"),
        "to another host": { host: "sts.evil.test" },
        "to a host with a port": { host: "sts.amazonaws.com:8443" },
        "to a host with a user": { host: "user@sts.amazonaws.com" },
        "to a host in capitals": { host: "STS.AMAZONAWS.COM" },
        "to another host by its target": line("https://sts.evil.test/?Action=GetCallerIdentity&Version=2011-06-15"),
        "with a body": { body: "Action=AssumeRole" },
        "with a length that is no length": { extraLines: ["Content-Length: 5"], body: "hello" },
        "with a chunked body": { extraLines: ["Transfer-Encoding: chunked"] },
        "with two authorizations": { extraLines: ["Authorization: AWS4-HMAC-SHA256 x"] },
        "with two dates": { extraLines: ["X-Amz-Date: 20300101T000000Z"] },
        "with two audiences": { extraLines: ["holt-audience: https://evil.test"] },
        "with two identities": { extraLines: ["HOLT-IDENTITY: x"] },
        "with two hosts": { extraLines: ["Host: sts.amazonaws.com"] },
        "with a folded header": { extraLines: ["X-A: b", " c"] },
        "with a bare line feed": { extraLines: ["X-A: b\nHolt-Audience: c"] },
        "with nothing signed": { signedHeaders: ["accept"] },
        "for another server": { audience: "https://other.test" },
        "for this server with a slash": { audience: `${world.baseUrl}/` },
        "for another identity": { identity: robot },
        "for an identity below it": { identity: `${aws}/0123456789abcdef` },
        "of sixteen minutes ago": { date: minutes(-16) },
        "of six minutes to come": { date: minutes(6) },
        "of another century": { date: new Date("1999-01-01T00:00:00Z") },
      };
      for (const name of signed) mutations[`with ${name} unsigned`] = { signedHeaders: signed.filter((each) => each !== name) };
      const corpus: Record<string, string> = {
        "cut short": proofOf(options()).slice(0, -40),
        "encoded twice": Buffer.from(proofOf(options())).toString("base64"),
        "signed for another service": proofOf(options()).replace(
          /^.*$/,
          Buffer.from(Buffer.from(proofOf(options()), "base64url").toString().replace("/sts/", "/iam/")).toString("base64url"),
        ),
      };
      for (const [why, mutation] of Object.entries(mutations)) corpus[why] = proofOf(options(mutation));
      await assertRefused(corpus, endpoints);
      await assertRefused(
        { "a good proof": proofOf(options()) },
        { ...proofEndpoints(robot), ...personEndpoints(), ...tokenEndpoints(), ...refreshEndpoints() },
      );
      assert.equal(sts.requests, asked);
      sts.answer(403, "no");
      world.clock.advance(61_000);
      await assertRefused({ "rejected by AWS": proofOf(options()) }, endpoints);
      sts.answer(200, { GetCallerIdentityResponse: { GetCallerIdentityResult: { Account: 123456789012, Arn: "a", UserId: "b" } } });
      await assertRefused({ "with an answer that is none": proofOf(options()) }, endpoints);
    });
  });
}

/** Reads the signing key from the database. */
async function signingKey({ store }: World): Promise<{ privateJwk: JWK; kid: string }> {
  const row = await store.reader.selectFrom("signing_key").selectAll().where("retire_time", "is", null).executeTakeFirstOrThrow();
  return { privateJwk: JSON.parse(row.private_jwk) as JWK, kid: row.kid };
}
