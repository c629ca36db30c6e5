import assert from "node:assert/strict";
import { it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Terms } from "@holt/api/gen/platform/iam/v1/terms_pb.ts";
import { TermsService } from "@holt/api/gen/platform/iam/v2/terms_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { parse } from "../harness/json.ts";
import { assertInvalid } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const path = "/iam/v1/terms";

describeWithWorld("terms of version 1", (world) => {
  it("terms accepted by one version are listed by the other, also those of the groups above", async () => {
    const group = await world.group(world.orgUid);
    const below = await world.group(group);
    const acceptedAt = world.clock.now().toISOString();
    const answer = await world.raw("POST", `${path}/${group}`, { documentIds: ["sfdpa.v1", "guardener-tos.v1"] });
    assert.deepEqual(parse(answer.text), { group, documentIds: ["sfdpa.v1", "guardener-tos.v1"] });
    await world.must(TermsService.method.acceptTerms, { group: below, documentIds: ["skills-tos.v1"] });
    const { items } = parse((await world.raw("GET", `${path}/${below}`)).text);
    assert.deepEqual(
      items,
      ["guardener-tos.v1", "sfdpa.v1", "skills-tos.v1"].map((docId) => ({ docId, acceptedBy: world.owner.uid, acceptedAt })),
    );
    const { termsAcceptances } = await world.must(TermsService.method.listTermsAcceptances, { group });
    assert.deepEqual(
      termsAcceptances.map(({ docId }) => docId),
      ["guardener-tos.v1", "sfdpa.v1"],
    );
    assertInvalid(await world.raw("POST", `${path}/${group}`, {}), "document_ids");
  });

  it("accepting and listing terms take their capabilities", async () => {
    const group = await world.group(world.orgUid);
    const [acceptor, reader] = [
      await world.robot(group, [Capability.CAP_TERMS_ACCEPT]),
      await world.robot(group, [Capability.CAP_TERMS_LIST]),
    ];
    const { acceptTerms, listAccepted } = Terms.method;
    for (const client of world.clients) {
      assert.equal(codeOf(await client.call(acceptTerms, { group, documentIds: ["a"] }, reader.token)), Code.PERMISSION_DENIED);
      assert.equal(codeOf(await client.call(acceptTerms, { group, documentIds: ["a"] }, acceptor.token)), 0);
      assert.equal(codeOf(await client.call(listAccepted, { group }, acceptor.token)), Code.PERMISSION_DENIED);
      const { items } = answerOf(await client.call(listAccepted, { group }, reader.token));
      assert.deepEqual(
        items.map(({ docId, acceptedBy }) => [docId, acceptedBy]),
        [["a", acceptor.uid]],
      );
    }
  });

  it("the first acceptance of a document emits the event of version 2 with the body of version 1", async () => {
    const group = await world.group(world.orgUid);
    for (let i = 0; i < 2; i++) await world.must(Terms.method.acceptTerms, { group, documentIds: ["a"] });
    const rows = await world.store.reader
      .selectFrom("outbox")
      .selectAll()
      .where("group_uid", "=", group)
      .where("type", "like", "%terms%")
      .execute();
    assert.deepEqual(
      rows.map(({ type, subject, source, body_type, data }) => [type, subject, source, body_type, parse(data).body]),
      [
        [
          "dev.holt.api.iam.terms.accepted.v1",
          group,
          `${world.baseUrl}${path}`,
          "platform.iam.v1.AcceptTermsResponse",
          { group, document_ids: ["a"] },
        ],
      ],
    );
  });
});
