import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import {
  AccountAssociationsCheckRequest_AccountType as AccountType,
  GroupAccountAssociations,
  AccountAssociationsStatus_State as State,
} from "@holt/api/gen/platform/iam/v1/account_associations_pb.ts";
import { AccountAssociationsService } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { parse } from "../harness/json.ts";
import { assertAbout, assertInvalid } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const path = "/iam/v1/account_associations";
const amazon = { account: "123456789012" };
const google = { projectId: "acme", projectNumber: "abcdefghi1" };
const azure = { tenantId: "01234567-89ab-cdef-0123-456789abcdef", clientIds: { scanner: "one", puller: "two" } };
const github = { appInstallations: { "12": { installations: [{ installationId: "34", name: "acme" }] } } };
/** Version 1 writes messages that are not set as null. */
const none = { amazon: null, google: null, chainguard: null, azure: null, github: null };

describeWithWorld("account associations of version 1", (world) => {
  const list = async (query = "", token?: string) =>
    parse((await world.raw("GET", `${path}?${query}`, undefined, token)).text).items as JsonObject[];

  it("an association made by one version is complete in the other", async () => {
    const group = await world.group(world.orgUid);
    const whole = { amazon, google, azure, github, name: "accounts", description: "All “é”" };
    const answer = await world.raw("POST", `${path}/${group}`, whole);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(parse(answer.text), { group, ...whole, chainguard: null });
    assert.deepEqual(await list(`group=${group}`), [parse(answer.text)]);
    const { uid, createTime, updateTime, ...v2 } = parse((await world.raw("GET", `/iam/v2/accountAssociations/${group}`)).text);
    assert.deepEqual(v2, whole);
    assert.deepEqual([uid, createTime], [group, updateTime]);

    const other = await world.group(world.orgUid);
    await world.must(AccountAssociationsService.method.createAccountAssociation, {
      parent: other,
      accountAssociation: { name: "other", amazon },
    });
    assert.deepEqual(await list(`group=${other}`), [{ ...none, group: other, amazon, name: "other", description: "" }]);
  });

  it("an update replaces all accounts", async () => {
    const group = await world.group(world.orgUid);
    await world.raw("POST", `${path}/${group}`, { name: "accounts", amazon, description: "first" });
    const answer = await world.raw("PUT", `${path}/${group}`, { name: "accounts", google });
    assert.deepEqual(parse(answer.text), { ...none, group, google, name: "accounts", description: "" });
    for (const client of world.clients) {
      const { token } = world.owner;
      const updated = answerOf(
        await client.call(GroupAccountAssociations.method.update, { group, name: "accounts", amazon, description: client.protocol }, token),
      );
      assert.deepEqual([updated.amazon?.account, updated.google, updated.description], [amazon.account, undefined, client.protocol]);
    }
  });

  it("a second association of a group is refused, and deleting a missing one succeeds", async () => {
    const group = await world.group(world.orgUid);
    const { token } = world.owner;
    for (const client of world.clients) {
      const { create, delete: remove } = GroupAccountAssociations.method;
      assert.equal(codeOf(await client.call(create, { group, name: "accounts", amazon }, token)), 0);
      assert.equal(codeOf(await client.call(create, { group, name: "accounts", amazon }, token)), Code.ALREADY_EXISTS);
      assert.equal(codeOf(await client.call(remove, { group }, token)), 0);
      assert.equal(codeOf(await client.call(remove, { group }, token)), 0);
      assert.equal(codeOf(await client.call(GroupAccountAssociations.method.update, { group, name: "x" }, token)), Code.NOT_FOUND);
    }
    const answer = await world.raw("DELETE", `${path}/${group}`);
    assert.deepEqual([answer.status, answer.text], [200, "{}"]);
    assertInvalid(await world.raw("POST", `${path}/${group}`, { name: "accounts", amazon: { account: "1" } }), "amazon.account");
    const missing = `${world.orgUid}/0123456789abcdef`;
    assertAbout(await world.raw("POST", `${path}/${missing}`, { name: "accounts", amazon }), Code.NOT_FOUND, "Group", missing);
  });

  it("lists filter by the exact group and by name, and show only what the caller may list", async () => {
    const top = await world.group(world.orgUid);
    const below = await world.group(top);
    const robot = await world.robot(below, [Capability.CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST]);
    for (const group of [top, below]) await world.raw("POST", `${path}/${group}`, { name: "filtered", amazon });
    const groups = async (query: string, token?: string) => (await list(query, token)).map(({ group }) => group);
    assert.deepEqual(await groups("name=filtered"), [top, below]);
    assert.deepEqual(await groups(`name=filtered&group=${top}`), [top]);
    assert.deepEqual(await groups(`name=other&group=${top}`), []);
    assert.deepEqual(await groups("group=nonsense"), []);
    assert.deepEqual(await groups("", robot.token), [below]);
    assert.deepEqual(await groups(`group=${top}`, robot.token), []);
  });

  it("a check says why an account is not ready", async () => {
    const group = await world.group(world.orgUid);
    await world.raw("POST", `${path}/${group}`, { name: "accounts", amazon });
    for (const client of world.clients) {
      const check = async (accountType: AccountType) =>
        answerOf(await client.call(GroupAccountAssociations.method.check, { group, accountType }, world.owner.token));
      const { ready, reason, message } = await check(AccountType.GOOGLE);
      assert.deepEqual([ready, reason], [State.NotReady, "not configured"]);
      assert.match(message, /Google Cloud/);
      assert.equal((await check(AccountType.AMAZON)).reason, "error exchanging credentials");
    }
    const answer = await world.raw("POST", `${path}/${group}:check`, { accountType: "AZURE" });
    assert.deepEqual([parse(answer.text).ready, parse(answer.text).reason], ["NotReady", "not configured"]);
    assert.equal((await world.raw("POST", `${path}/${group}:check`, {})).status, 400);
  });

  it("the events of an association are about its group", async () => {
    const group = await world.group(world.orgUid);
    await world.raw("POST", `${path}/${group}`, { name: "accounts", amazon });
    await world.raw("PUT", `${path}/${group}`, { name: "accounts", google });
    await world.raw("DELETE", `${path}/${group}`);
    const rows = await world.store.reader
      .selectFrom("outbox")
      .selectAll()
      .where("subject", "=", group)
      .where("type", "like", "%account_associations%")
      .orderBy("seq")
      .execute();
    assert.deepEqual(
      rows.map(({ type, source, group_uid, body_type }) => [type, source, group_uid, body_type]),
      (["created", "updated", "deleted"] as const).map((verb) => [
        `dev.holt.api.iam.account_associations.${verb}.v1`,
        `${world.baseUrl}${path}`,
        group,
        `platform.iam.v1.${verb === "deleted" ? "DeleteAccountAssociationsRequest" : "AccountAssociations"}`,
      ]),
    );
  });
});
