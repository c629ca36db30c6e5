import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { ExternalGroupRoleMappings } from "@holt/api/gen/platform/iam/v1/external_group_role_mappings_pb.ts";
import { ExternalGroupRoleMappingsService } from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { builtInRole, providerIn } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const path = "/iam/v1/externalGroupRoleMappings";

describeWithWorld("external group role mappings of version 1", (world) => {
  const list = async (query: string) => parse((await world.raw("GET", `${path}?${query}`)).text).items as JsonObject[];
  const start = async () => {
    const org = await world.group("", "acme");
    const [provider, roleUidp] = [await providerIn(world, org), await builtInRole(world, "viewer")];
    const make = async (externalGroupId: string) => {
      const answer = await world.raw("POST", `${path}/${provider}`, { externalGroupId, roleUidp, scope: org });
      assert.equal(answer.status, 200, answer.text);
      return parse(answer.text);
    };
    return { org, provider, roleUidp, make };
  };

  it("a mapping made by one version is complete in the other", async () => {
    const { org, provider, roleUidp, make } = await start();
    const mapping = await make("Ä group");
    const { id, createdAt, ...rest } = mapping;
    assert.deepEqual(rest, { identityProviderUidp: provider, externalGroupId: "Ä group", roleUidp, scope: org });
    const v2 = parse((await world.raw("GET", `/iam/v2/externalGroupRoleMappings/${textOf(id)}`)).text);
    assert.deepEqual(v2, {
      uid: id,
      identityProviderUid: provider,
      externalGroupId: "Ä group",
      roleUid: roleUidp,
      scope: org,
      createTime: createdAt,
    });
    assert.deepEqual(parse((await world.raw("GET", `${path}/${textOf(id)}`)).text), mapping);
    const { uid } = await world.must(ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping, {
      parent: provider,
      externalGroupRoleMapping: { externalGroupId: "other", roleUid: roleUidp, scope: org },
    });
    assert.equal((await world.must(ExternalGroupRoleMappings.method.get, { uid })).externalGroupId, "other");
  });

  it("mappings are listed by their provider and by their place", async () => {
    const { org, provider, make } = await start();
    const mapping = await make("one");
    const second = await providerIn(world, org, "second");
    assert.deepEqual(await list(`identity_provider_uidp=${provider}`), [mapping]);
    assert.deepEqual(await list(`uidp.descendantsOf=${org}`), [mapping]);
    assert.deepEqual(await list(`identity_provider_uidp=${second}`), []);
    assert.deepEqual(await list("identity_provider_uidp=nonsense"), []);
  });

  it("a batch deletes the mappings of one provider and answers those that existed", async () => {
    const { provider, make } = await start();
    const [a, b] = [await make("a"), await make("b")];
    const ids = [textOf(a.id), newUid(provider)];
    const answer = await world.raw("POST", `${path}:batchDelete`, { parentId: provider, ids });
    assert.deepEqual(parse(answer.text), { parentId: provider, items: [a] });
    const elsewhere = [textOf(b.id), newUid(await world.group(world.orgUid))];
    assertRefused(await world.raw("POST", `${path}:batchDelete`, { parentId: provider, ids: elsewhere }), Code.INVALID_ARGUMENT);
    assert.deepEqual(await list(`identity_provider_uidp=${provider}`), [b]);
  });

  it("every client can get and delete a mapping, and a deleted one is not found", async () => {
    const { org, provider, roleUidp } = await start();
    const { create, get, delete: remove } = ExternalGroupRoleMappings.method;
    for (const client of world.clients) {
      const { token } = world.owner;
      const mapping = { externalGroupId: client.protocol, roleUidp, scope: org };
      const { id } = answerOf(await client.call(create, { parentId: provider, mapping }, token));
      assert.equal(codeOf(await client.call(create, { parentId: provider, mapping }, token)), Code.ALREADY_EXISTS);
      assert.equal(answerOf(await client.call(get, { uid: id }, token)).externalGroupId, client.protocol);
      assert.equal(codeOf(await client.call(remove, { id }, token)), 0);
      assert.equal(codeOf(await client.call(get, { uid: id }, token)), Code.NOT_FOUND);
      assert.equal(codeOf(await client.call(remove, { id }, token)), Code.NOT_FOUND);
    }
  });

  it("the events of mappings name the provider and the organization", async () => {
    const { org, provider, make } = await start();
    const ids = [textOf((await make("a")).id), textOf((await make("b")).id)];
    await world.raw("DELETE", `${path}/${ids[0]}`);
    await world.raw("POST", `${path}:batchDelete`, { parentId: provider, ids });
    const rows = await world.store.reader
      .selectFrom("outbox")
      .selectAll()
      .where("group_uid", "=", org)
      .where("type", "like", "%role_mappings%")
      .orderBy("seq")
      .execute();
    const prefix = "dev.holt.api.iam.external_group_role_mappings";
    assert.deepEqual(
      rows.map(({ type, subject, source, body_type }) => [type, subject, source.slice(world.baseUrl.length), body_type]),
      [
        [`${prefix}.created.v1`, ids[0], path, "platform.iam.v1.ExternalGroupRoleMapping"],
        [`${prefix}.created.v1`, ids[1], path, "platform.iam.v1.ExternalGroupRoleMapping"],
        [`${prefix}.deleted.v1`, ids[0], path, "platform.iam.v1.DeleteExternalGroupRoleMappingRequest"],
        [`${prefix}.deleted.batch.v1`, provider, `${path}:batchDelete`, "platform.iam.v1.BatchDeleteExternalGroupRoleMappingsResponse"],
      ],
    );
    assert.ok(rows.every(({ extensions }) => parse(extensions).identityprovider === provider));
  });
});
