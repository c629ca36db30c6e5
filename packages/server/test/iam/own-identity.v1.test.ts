/** Tests the identities service of the events package of version 1. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Identities } from "@holt/api/gen/platform/events/v1/identities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { parse } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const PATH = "/iam/v1/identities";

describeWithWorld("identities of the events package", (world) => {
  it("a user's metadata change by version 1, and version 2 has the same", async () => {
    const user = await world.user();
    const patch = async (body: JsonObject) => {
      const answer = await world.raw("PATCH", `${PATH}/metadata`, body, user.token);
      assert.equal(answer.status, 200, answer.text);
      return parse(answer.text) as JsonObject & { onboardingQuestions: JsonObject };
    };
    const questions = { companyName: "Acme", providers: ["aws", "gcp"], product: "images", jobTitle: "chef", selfServe: true };
    const first = await patch({ onboardingQuestions: questions, updatesOptIn: true, name: "ignored" });
    assert.equal(first.updatesOptIn, true);
    assert.notEqual(first.name, "ignored");
    for (const [name, value] of Object.entries(questions)) assert.deepEqual(first.onboardingQuestions[name], value);
    assert.equal(first.onboardingQuestions.utmTerm, "");
    const kept = await patch({ updatesOptIn: false });
    assert.deepEqual([kept.updatesOptIn, kept.onboardingQuestions.companyName], [false, "Acme"]);
    const v2 = await world.raw("PATCH", "/iam/v2/identities:updateIdentityMetadata", { identityMetadata: { utmTerm: "x" } }, user.token);
    const { company, product, jobTitle, selfServe, utmTerm, updatesOptIn } = parse(v2.text);
    assert.deepEqual([company, product, jobTitle, selfServe, utmTerm, updatesOptIn], ["Acme", "images", "chef", true, "x", false]);
    assertRefused(await world.raw("PATCH", `${PATH}/metadata`, {}, ""), Code.UNAUTHENTICATED);
  });

  it("metadata are those of the calling user over gRPC, and their event is internal", async () => {
    const user = await world.user();
    const { onboardingQuestions } = answerOf(
      await world.grpc.call(Identities.method.updateMetadata, { onboardingQuestions: { companyName: "Over gRPC" } }, user.token),
    );
    assert.equal(onboardingQuestions?.companyName, "Over gRPC");
    const long = { onboardingQuestions: { providers: ["a".repeat(16_385)] } };
    assert.equal(codeOf(await world.grpc.call(Identities.method.updateMetadata, long, user.token)), Code.INVALID_ARGUMENT);
    const events = await world.store.reader
      .selectFrom("outbox")
      .selectAll()
      .where("type", "like", "%identity.metadata%")
      .orderBy("seq")
      .execute();
    const last = events.at(-1);
    assert.deepEqual(
      [last?.audience, last?.source, last?.body_type],
      ["internal", `${world.baseUrl}${PATH}/metadata`, "platform.events.v1.IdentityMetadata"],
    );
  });

  it("the operator can register a user, who then signs in as that identity", async () => {
    const [issuer, subject] = [world.issuer, "registered-by-operator"];
    const answer = await world.raw("POST", PATH, { issuer, subject });
    assert.equal(answer.status, 200, answer.text);
    const id = world.userUid(subject);
    assert.deepEqual(parse(answer.text), { id, subject, issuer, issuerKeys: "", expiration: null });
    assertAbout(await world.raw("POST", PATH, { issuer, subject }), Code.ALREADY_EXISTS, "Identity", id);
    assert.equal((await world.user(subject)).uid, id);
    const lookup = await world.raw("GET", `${PATH}/lookup?issuer=${encodeURIComponent(issuer)}&subject=${subject}`);
    assert.equal(parse(lookup.text).id, id);
  });

  it("nobody else can register users, and only users without keys are registered", async () => {
    const identity = { issuer: world.issuer, subject: "somebody" };
    for (const client of world.clients)
      assert.equal(codeOf(await client.call(Identities.method.create, identity, (await world.user()).token)), Code.PERMISSION_DENIED);
    assertInvalid(await world.raw("POST", PATH, { ...identity, issuerKeys: "{}" }), "issuer_keys");
    assertRefused(await world.raw("POST", PATH, { issuer: "no URL", subject: "x" }), Code.INVALID_ARGUMENT);
    assertRefused(await world.raw("POST", PATH, { issuer: world.issuer }), Code.INVALID_ARGUMENT);
  });
});
