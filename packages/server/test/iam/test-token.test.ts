import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { AccessService, type TestTokenResponse } from "@holt/api/gen/holt/v1/access_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { IdentitiesService, type IdentitySchema, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { exportJWK, generateKeyPair } from "jose";
import { Code } from "../../src/lib/errors.ts";
import { newUid, parentOf } from "../../src/lib/uid.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { startIssuer, type TestIssuer } from "../harness/oidc-issuer.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const { testToken } = AccessService.method;

type Relationship = NonNullable<MessageInitShape<typeof IdentitySchema>["relationship"]>;

describeWithWorld(
  "testing a token",
  (world) => {
    const make = async (parent: string, name: string, relationship: Relationship): Promise<string> =>
      (await world.must(IdentitiesService.method.createIdentity, { parent, identity: { name, relationship } })).uid;
    const matcher = (issuer: string, subject: string, more: object = {}): Relationship =>
      ({
        case: "claimMatch",
        value: { iss: { case: "issuer", value: issuer }, sub: { case: "subject", value: subject }, ...more },
      }) as never;

    const attempt = async (
      parent: string,
      tried: { token: string } | { claims: JsonObject },
      { token }: Caller = world.owner,
    ): Promise<TestTokenResponse> => {
      const [rest, grpc] = await Promise.all([world.rest, world.grpc].map((client) => client.call(testToken, { parent, ...tried }, token)));
      assert.deepEqual(answerOf(rest!), answerOf(grpc!));
      return answerOf(rest!);
    };
    const uidsOf = (list: readonly { identityUid: string }[]) => list.map(({ identityUid }) => identityUid).sort();
    const withIssuer = async (work: (issuer: TestIssuer) => Promise<void>): Promise<void> => {
      await using issuer = await startIssuer({ now: world.clock.now });
      await work(issuer);
    };

    it("every identity at or below the group that accepts the token is found, and none elsewhere", () =>
      withIssuer(async (issuer) => {
        const [team, beside] = [await world.group(world.orgUid), await world.group(world.orgUid)];
        const squad = await world.group(team);
        const exact = await make(team, "exact", matcher(issuer.issuer, "repo:acme/site"));
        const pattern = await make(squad, "pattern", {
          case: "claimMatch",
          value: {
            iss: { case: "issuerPattern", value: "http://127\\.0\\.0\\.1:\\d+" },
            sub: { case: "subjectPattern", value: "repo:.*" },
          },
        });
        const half = await make(squad, "half", {
          case: "claimMatch",
          value: { iss: { case: "issuer", value: issuer.issuer }, sub: { case: "subjectPattern", value: "repo:acme/.*" } },
        });
        await make(beside, "beside", matcher(issuer.issuer, "repo:acme/site"));
        const claims = { iss: issuer.issuer, sub: "repo:acme/site", aud: world.baseUrl };
        for (const tried of [{ claims }, { token: await issuer.sign(claims) }]) {
          const { matches, nearMisses, tokenError, incomplete } = await attempt(team, tried);
          assert.deepEqual(uidsOf(matches), [exact, pattern, half].sort());
          assert.ok(matches.every(({ claim, explanation }) => claim === "" && explanation === ""));
          assert.deepEqual([nearMisses, tokenError, incomplete], [[], "", false]);
        }
        assert.deepEqual(uidsOf((await attempt(squad, { claims })).matches), [pattern, half].sort());
      }));

    it("near misses report the claim that failed, the expected and the actual value, nearest first", () =>
      withIssuer(async (issuer) => {
        const team = await world.group(world.orgUid);
        const other = await make(team, "other", matcher(issuer.issuer, "something else"));
        const branch = await make(team, "branch", matcher(issuer.issuer, "repo:acme/site:ref:refs/heads/main"));
        const audience = await make(
          team,
          "audience",
          matcher(issuer.issuer, "repo:acme/site", { aud: { case: "audience", value: "aws" } }),
        );
        const claim = await make(team, "claim", matcher(issuer.issuer, "repo:acme/site", { claimPatterns: { ref: "refs/tags/.*" } }));
        await make(team, "another issuer", matcher("https://other.test", "repo:acme/site"));
        const claims = { iss: issuer.issuer, sub: "repo:acme/site", aud: world.baseUrl, ref: "refs/heads/main" };
        const { matches, nearMisses } = await attempt(team, { token: await issuer.sign(claims) });
        assert.deepEqual(matches, []);
        assert.deepEqual(
          nearMisses.map(({ identityUid, name, claim: failed, explanation }) => [identityUid, name, failed, explanation]),
          [
            [
              claim,
              "claim",
              "ref",
              'the identity expects a value that matches the pattern "refs/tags/.*" as a whole; the token has "refs/heads/main"',
            ],
            [audience, "audience", "aud", `the identity expects "aws"; the token has "${world.baseUrl}"`],
            [branch, "branch", "sub", 'the identity expects "repo:acme/site:ref:refs/heads/main"; the token has "repo:acme/site"'],
            [other, "other", "sub", 'the identity expects "something else"; the token has "repo:acme/site"'],
          ],
        );
      }));

    it("a token with a bad signature is reported and matches no identity", () =>
      withIssuer(async (issuer) => {
        await using forger = await startIssuer({ now: world.clock.now });
        const team = await world.group(world.orgUid);
        const uid = await make(team, "robot", matcher(issuer.issuer, "a"));
        const claims = { iss: issuer.issuer, sub: "a", aud: world.baseUrl };
        const seconds = Math.floor(world.clock.now().getTime() / 1000);
        for (const [token, wrong] of [
          [await forger.sign(claims), /the signature is not from a key of the issuer/],
          [await issuer.sign({ ...claims, exp: seconds - 61 }), /expired/],
        ] as const) {
          const { tokenError, matches, nearMisses } = await attempt(team, { token });
          assert.match(tokenError, wrong);
          assert.deepEqual(matches, []);
          assert.deepEqual(
            nearMisses.map(({ identityUid, claim }) => [identityUid, claim]),
            [[uid, ""]],
          );
          assert.match(nearMisses[0]?.explanation ?? "", wrong);
        }
        const before = issuer.requests;
        for (const token of ["garbage", "a.b.c", await issuer.sign({ ...claims, iss: undefined })]) {
          const answer = await attempt(team, { token });
          assert.match(answer.tokenError, /the token is not acceptable/);
          assert.deepEqual([answer.matches, answer.nearMisses], [[], []]);
        }
        assert.equal(issuer.requests, before);
        assert.equal(forger.requests, 0);
      }));

    it("only issuers whose tokens an identity accepts are contacted, and an issuer that is down is reported", () =>
      withIssuer(async (issuer) => {
        const team = await world.group(world.orgUid);
        const claims = { sub: "a", aud: world.baseUrl };
        assert.deepEqual((await attempt(team, { token: await issuer.sign(claims) })).tokenError, "");
        assert.equal(issuer.requests, 0);
        await make(team, "robot", matcher(issuer.issuer, "a"));
        issuer.setDown(true);
        const { tokenError, matches } = await attempt(team, { token: await issuer.sign(claims) });
        assert.match(tokenError, /are not available/);
        assert.deepEqual(matches, []);
      }));

    it("identities with static keys verify the token with their own keys", async () => {
      const team = await world.group(world.orgUid);
      const mine = await world.robot(team);
      const { publicKey } = await generateKeyPair("ES256");
      const issuerKeys = JSON.stringify({ keys: [await exportJWK(publicKey)] });
      const foreign = await make(team, "foreign", {
        case: "staticKeys",
        value: { issuer: "https://robots.test", subject: "robot", issuerKeys },
      });
      const { matches, nearMisses, tokenError } = await attempt(team, { token: await world.robotProof() });
      assert.deepEqual([uidsOf(matches), uidsOf(nearMisses), tokenError], [[mine.uid], [foreign], ""]);
      assert.match(nearMisses[0]?.explanation ?? "", /the claims match, but the token is not acceptable: the signature/);
      const claims = { iss: "https://robots.test", sub: "robot", aud: world.baseUrl };
      assert.deepEqual(uidsOf((await attempt(team, { claims })).matches), [mine.uid, foreign].sort());
    });

    it("tokens of this server and of service principals match without revealing the configured subjects", async () => {
      const team = await world.group(world.orgUid);
      const robot = await world.robot(team);
      const accepting = await make(team, "accepting", matcher(world.baseUrl, robot.uid));
      await make(team, "other", matcher(world.baseUrl, world.owner.uid));
      const ours = await attempt(team, { token: robot.token });
      assert.deepEqual([uidsOf(ours.matches), ours.tokenError], [[accepting], ""]);
      const forged = await attempt(team, { token: `${robot.token.slice(0, -8)}AAAAAAAA` });
      assert.match(forged.tokenError, /signature/);
      assert.deepEqual(forged.matches, []);

      const ingester = await make(team, "ingester", { case: "servicePrincipal", value: ServicePrincipal.INGESTER });
      await make(team, "cosigned", { case: "servicePrincipal", value: ServicePrincipal.COSIGNED });
      const claims = { iss: "https://operator.test", sub: "ingester-subject", aud: world.baseUrl };
      assert.deepEqual(uidsOf((await attempt(team, { claims })).matches), [ingester]);
      const { matches, nearMisses } = await attempt(team, { claims: { ...claims, sub: "x" } });
      assert.deepEqual([matches, uidsOf(nearMisses)], [[], [ingester]]);
      assert.doesNotMatch(nearMisses[0]?.explanation ?? "", /ingester-subject/);
    });

    it("the request must have either a token or claims that a token can have", async () => {
      for (const request of [
        {},
        { token: "x", claims: { iss: "https://a.test" } },
        { claims: {} },
        { claims: { iss: 7 } },
        { claims: { iss: "https://a.test\n" } },
        { claims: { iss: "https://a.test", filler: "x".repeat(20_000) } },
      ]) {
        for (const client of [world.rest, world.grpc]) {
          const outcome = await client.call(testToken, { parent: world.orgUid, ...request } as never, world.token);
          assert.equal(codeOf(outcome), Code.INVALID_ARGUMENT, JSON.stringify(request).slice(0, 80));
        }
      }
    });

    it("a token is compared with an identity that is not saved, and with its issuer", () =>
      withIssuer(async (issuer) => {
        const team = await world.group(world.orgUid);
        await make(team, "saved", matcher(issuer.issuer, "a"));
        const token = await issuer.sign({ iss: issuer.issuer, sub: "a", aud: world.baseUrl });
        const attemptWith = async (relationship: Relationship, by: Caller = world.owner) =>
          world.rest.call(testToken, { parent: team, token, identity: { name: "draft", relationship } }, by.token);
        assert.deepEqual(
          answerOf(await attemptWith(matcher(issuer.issuer, "a"))).matches.map(({ identityUid, name }) => [identityUid, name]),
          [["", "draft"]],
        );
        for (const [relationship, claim, expected] of [
          [matcher(issuer.issuer, "b"), "sub", '"b"; the token has "a"'],
          [matcher("https://other.test", "a"), "iss", `"https://other.test"; the token has "${issuer.issuer}"`],
        ] as const) {
          const { matches, nearMisses } = answerOf(await attemptWith(relationship));
          assert.deepEqual(matches, []);
          assert.deepEqual(
            nearMisses.map(({ claim: failed, explanation }) => [failed, explanation]),
            [[claim, `the identity expects ${expected}`]],
          );
        }
        assert.equal(codeOf(await attemptWith(matcher("http://not-https.test", "a"))), Code.INVALID_ARGUMENT);
        const aws = { awsAccount: "123456789012", awsArn: { case: "arn", value: "a" }, awsUserId: { case: "userId", value: "b" } } as const;
        assert.equal(codeOf(await attemptWith({ case: "awsIdentity", value: aws } as never)), Code.INVALID_ARGUMENT);
        const reader = await world.robot(world.orgUid, [Capability.CAP_IAM_IDENTITY_LIST]);
        assert.equal(codeOf(await attemptWith(matcher(issuer.issuer, "a"), reader)), Code.PERMISSION_DENIED);
        const listed = await world.must(IdentitiesService.method.listIdentities, { uidp: { childrenOf: team } });
        assert.deepEqual(
          listed.identities.map(({ name }) => name),
          ["saved"],
        );
      }));

    it("long and unusual names are compared as in token exchange", async () => {
      const team = await world.group(world.orgUid);
      const iss = "https://strange.test";
      const subjects = [`${"é😀".repeat(100)}1`, "a\\u0000b", "quote\"'; drop table identity; --", "%", "_"];
      for (const subject of subjects) {
        const uid = await make(team, "strange", matcher(iss, subject));
        await make(team, "strange", matcher(iss, `${subject.slice(0, -1)}2`));
        assert.deepEqual(uidsOf((await attempt(team, { claims: { iss, sub: subject, aud: world.baseUrl } })).matches), [uid], subject);
      }
      for (const subject of ["a\u0000b", "half \ud800"]) {
        const identity = { name: "odd", relationship: matcher(iss, subject) };
        const outcome = await world.rest.call(IdentitiesService.method.createIdentity, { parent: team, identity } as never, world.token);
        assert.notEqual(codeOf(outcome), Code.INTERNAL);
      }
    });

    it("one match among thousands is found in a time that does not grow with other organizations", async () => {
      const [team, crowd] = [await world.group(world.orgUid), await world.group(world.orgUid)];
      const iss = "https://crowded.test";
      const uid = await make(team, "the one", matcher(iss, "me"));
      const { body } = await world.store.reader.selectFrom("identity").select("body").where("uid", "=", uid).executeTakeFirstOrThrow();
      const time = world.clock.now().toISOString();
      const rows = [team, crowd].flatMap((parent) =>
        Array.from({ length: 2500 }, (_, i) => {
          const copy = newUid(parent);
          const text = body.replaceAll(uid, copy).replace('"me"', `"somebody ${i}"`);
          return { uid: copy, parent, name: "crowd", create_time: time, update_time: time, relationship_type: 1, body: text };
        }),
      );
      for (let i = 0; i < rows.length; i += 100)
        await world.store.transaction((db) =>
          db
            .insertInto("identity")
            .values(rows.slice(i, i + 100))
            .execute(),
        );
      const begin = process.cpuUsage();
      const { matches, nearMisses, incomplete } = await attempt(team, { claims: { iss, sub: "me", aud: world.baseUrl } });
      const { user } = process.cpuUsage(begin);
      assert.ok(user < 3_000_000, `it cost ${user} µs of CPU time`);
      assert.deepEqual([uidsOf(matches), nearMisses.length, incomplete], [[uid], 50, false]);
      assert.ok(nearMisses.every(({ identityUid }) => parentOf(identityUid) === team));
    });

    it("the answer says if there were too many identities to compare", async () => {
      const team = await world.group(world.orgUid);
      const iss = "https://patterns.test";
      const relationship = {
        case: "claimMatch",
        value: { iss: { case: "issuer", value: iss }, sub: { case: "subjectPattern", value: "b+" } },
      } as const;
      const uid = await make(team, "pattern", relationship);
      const { body } = await world.store.reader.selectFrom("identity").select("body").where("uid", "=", uid).executeTakeFirstOrThrow();
      const time = world.clock.now().toISOString();
      const rows = Array.from({ length: 250 }, () => {
        const copy = newUid(team);
        const row = { uid: copy, parent: team, name: "crowd", create_time: time, update_time: time, relationship_type: 1 };
        return { ...row, body: body.replaceAll(uid, copy) };
      });
      await world.store.transaction((db) => db.insertInto("identity").values(rows).execute());
      const { nearMisses, incomplete } = await attempt(team, { claims: { iss, sub: "a" } });
      assert.deepEqual([nearMisses.length, incomplete], [50, true]);
    });

    it("trying a token leaves no trace: no event, no login, nothing in the database", () =>
      withIssuer(async (issuer) => {
        const team = await world.group(world.orgUid);
        const uid = await make(team, "robot", matcher(issuer.issuer, "a"));
        const read = async () => [
          await world.store.reader.selectFrom("identity").select("body").where("uid", "=", uid).executeTakeFirstOrThrow(),
          await world.store.reader.selectFrom("outbox").select("seq").orderBy("seq").execute(),
          await world.store.reader.selectFrom("refresh_token").select("token_hash").orderBy("token_hash").execute(),
        ];
        const before = await read();
        const { matches } = await attempt(team, { token: await issuer.sign({ sub: "a", aud: world.baseUrl }) });
        assert.deepEqual(uidsOf(matches), [uid]);
        assert.deepEqual(await read(), before);
      }));
  },
  { env: { HOLT_SERVICE_PRINCIPALS: "INGESTER=https://operator.test ingester-subject" } },
);
