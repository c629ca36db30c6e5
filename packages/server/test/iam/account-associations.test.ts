import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const path = "/iam/v2/accountAssociations";

describeWithWorld("account associations", (world) => {
  const create = (group: string, body: JsonObject) => world.raw("POST", `${path}/${group}`, { name: "accounts", ...body });
  const patch = (group: string, body: JsonObject, query = "") => world.raw("PATCH", `${path}/${group}${query}`, body);
  const made = async (body: JsonObject = {}) => {
    const group = await world.group(world.orgUid);
    const answer = await create(group, body);
    assert.equal(answer.status, 200, answer.text);
    return group;
  };
  const service = async (group: string, servicePrincipal: string) =>
    textOf(parse((await world.raw("POST", `/iam/v2/identities/${group}`, { name: "service", servicePrincipal })).text).uid);
  const amazon = { account: "012345678901" };
  const google = { projectId: "acme", projectNumber: "123" };
  const azure = { tenantId: "01234567-89ab-cdef-0123-456789abcdef", clientIds: { scanner: "app" } };

  it("an account association has the uid of its group, and a group has at most one", async () => {
    const group = await made({ amazon });
    assert.equal(parse((await world.raw("GET", `${path}/${group}`)).text).uid, group);
    assertAbout(await create(group, {}), Code.ALREADY_EXISTS, "AccountAssociation", group);
    const another = await world.group(world.orgUid);
    const answers = await Promise.all([1, 2, 3].map(() => create(another, {})));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
  });

  it("an account association can be recreated after deletion, and deleting it twice emits one event", async () => {
    const group = await made();
    const events = () => world.store.reader.selectFrom("outbox").select("type").where("subject", "=", group).orderBy("seq").execute();
    assert.equal((await world.raw("DELETE", `${path}/${group}`)).status, 200);
    const before = (await events()).length;
    assert.equal((await world.raw("DELETE", `${path}/${group}`)).status, 200);
    assert.equal((await events()).length, before);
    assert.equal((await create(group, {})).status, 200);
  });

  it("account associations at and below an organization are found as children of their groups", async () => {
    const top = await made();
    const below = await world.group(top);
    await create(below, { name: "below" });
    const list = async (query: string) => {
      const { accountAssociations, totalCount } = parse((await world.raw("GET", `${path}?${query}`)).text);
      const uids = (accountAssociations as { uid: string }[]).map(({ uid }) => uid);
      assert.equal(totalCount, String(uids.length));
      return uids;
    };
    assert.deepEqual(await list(`uidp.descendantsOf=${top}`), [top, below]);
    assert.deepEqual(await list(`uidp.childrenOf=${top}`), [top]);
    assert.deepEqual(await list(`uidp.ancestorsOf=${below}`), [top]);
    assert.deepEqual(await list(`uidp.descendantsOf=${top}&name=below`), [below]);
    assert.deepEqual(await list(`uidp.ids=${below}&uidp.ids=${newUid(top)}`), [below]);
    await create(world.orgUid, {});
    assert.deepEqual(await list("uidp.inRoot=true"), [world.orgUid]);
    assert.ok((await list("page_size=200")).includes(world.orgUid));
    // Listing below a group includes the group's own association.
    const reader = await world.robot(below, [Capability.CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST]);
    const seen = parse((await world.raw("GET", path, undefined, reader.token)).text);
    assert.deepEqual([(seen.accountAssociations as { uid: string }[]).map(({ uid }) => uid), seen.totalCount], [[below], "1"]);
    assert.equal((await world.raw("DELETE", `${path}/${world.orgUid}`)).status, 200);
    assert.deepEqual(await list("uidp.inRoot=true"), []);
  });

  it("account associations are ordered by their groups, in both directions and over pages", async () => {
    const top = await made();
    const groups = [top, await world.group(top), await world.group(top)].toSorted();
    for (const group of groups.slice(1)) await create(group, {});
    const list = async (query: string) => {
      const { accountAssociations, nextPageToken } = parse((await world.raw("GET", `${path}?uidp.descendantsOf=${top}&${query}`)).text);
      return { uids: (accountAssociations as { uid: string }[]).map(({ uid }) => uid), token: textOf(nextPageToken ?? "") };
    };
    assert.deepEqual((await list("order_by=group")).uids, groups);
    const first = await list("order_by=group%20desc&page_size=2");
    const second = await list(`order_by=group%20desc&page_size=2&page_token=${first.token}`);
    assert.deepEqual([...first.uids, ...second.uids], groups.toReversed());
  });

  it("an account association can be updated as a whole or provider by provider", async () => {
    const group = await made({ amazon, google });
    const get = async () => parse((await world.raw("GET", `${path}/${group}`)).text);
    await patch(group, { azure });
    let now = await get();
    assert.deepEqual([now.amazon, now.google, now.azure], [amazon, google, azure]);
    await patch(group, { amazon: { account: "109876543210" } }, "?updateMask=amazon");
    now = await get();
    assert.deepEqual([now.amazon, now.google], [{ account: "109876543210" }, google]);
    await patch(group, { name: "only", google }, "?updateMask=*");
    now = await get();
    assert.deepEqual([now.name, now.amazon, now.google, now.azure], ["only", undefined, google, undefined]);
    await patch(group, {}, "?updateMask=google");
    assert.equal((await get()).google, undefined);
  });

  it("a project number is any text", async () => {
    const text = { ...google, projectNumber: "one" };
    const { text: answer } = await create(await world.group(world.orgUid), { google: text });
    assert.deepEqual(parse(answer).google, text);
  });

  it("each provider of an account association has required fields", async () => {
    const group = await world.group(world.orgUid);
    assertInvalid(await create(group, { name: "NOT A NAME", amazon: {} }), "name");
    assertInvalid(await create(group, { amazon: {} }), "amazon.account");
    assertInvalid(await create(group, { amazon: { account: "1234567890123" } }), "amazon.account");
    assertInvalid(await create(group, { google: {} }), "google.project_id", "google.project_number");
    assertInvalid(await create(group, { google: { ...google, projectNumber: "1".repeat(257) } }), "google.project_number");

    assertInvalid(await create(group, { azure: {} }), "azure.tenant_id", "azure.client_ids");
    assertInvalid(await create(group, { azure: { ...azure, tenantId: "acme" } }), "azure.tenant_id");
    assertInvalid(await create(group, { azure: { ...azure, clientIds: { scanner: "" } } }), "azure.client_ids.scanner");
    const installations = [{ name: "no id" }];
    assertInvalid(
      await create(group, { github: { appInstallations: { "1": { installations } } } }),
      "github.app_installations.1.installation_id",
    );
    assertInvalid(await create(group, { chainguard: {} }), "chainguard.service_bindings");
    assertInvalid(await create(group, { chainguard: { serviceBindings: { NOBODY: newUid(group) } } }), "chainguard.service_bindings");
    assert.equal((await create(group, { amazon, google, azure, github: {} })).status, 200);
  });

  it("an account association names only identities of its own group that are reserved for the service", async () => {
    const group = await world.group(world.orgUid);
    const field = "chainguard.service_bindings.CATALOG_SYNCER";
    const bind = (uid: string) => create(group, { chainguard: { serviceBindings: { CATALOG_SYNCER: uid } } });
    assertInvalid(await bind("nonsense"), field);
    assertInvalid(await bind(newUid(group)), field);
    assertInvalid(await bind(await service(await world.group(group), "SERVICE_PRINCIPAL_CATALOG_SYNCER")), field);
    assertInvalid(await bind(await service(group, "SERVICE_PRINCIPAL_INGESTER")), field);
    assertInvalid(await bind((await world.robot(group)).uid), field);
    const uid = await service(group, "SERVICE_PRINCIPAL_CATALOG_SYNCER");
    assert.equal((await bind(uid)).status, 200);
    // An identity deleted since then blocks nothing.
    await world.raw("DELETE", `/iam/v2/identities/${uid}`);
    assert.equal((await patch(group, { amazon })).status, 200);
    assertInvalid(
      await patch(group, { chainguard: { serviceBindings: { CATALOG_SYNCER: uid, INGESTER: uid } } }),
      field,
      field.replace("CATALOG_SYNCER", "INGESTER"),
    );
  });

  it("an account association can be checked, and a failed check is a successful answer", async () => {
    const group = await made({ amazon });
    const bare = await world.group(world.orgUid);
    const check = (uid: string, providerType: string) => world.raw("POST", `${path}/${uid}:checkAccountAssociation`, { providerType });
    const answered = async (uid: string, provider: string) => {
      const { status, reason, message } = parse((await check(uid, `ACCOUNT_PROVIDER_TYPE_${provider}`)).text);
      assert.notEqual(message, "");
      return [status, reason];
    };
    assert.deepEqual(await answered(group, "AMAZON"), ["CHECK_STATUS_NOT_READY", "error exchanging credentials"]);
    for (const provider of ["GOOGLE", "AZURE"])
      assert.deepEqual(await answered(group, provider), ["CHECK_STATUS_NOT_READY", "not configured"]);
    assert.deepEqual(await answered(bare, "AMAZON"), ["CHECK_STATUS_NOT_READY", "not configured"]);
    assertInvalid(await check(group, "ACCOUNT_PROVIDER_TYPE_UNSPECIFIED"), "provider_type");
    assert.equal((await check(newUid(world.orgUid), "ACCOUNT_PROVIDER_TYPE_AMAZON")).status, 404);
    const stranger = await world.user();
    const body = { providerType: "ACCOUNT_PROVIDER_TYPE_AMAZON" };
    assertRefused(await world.raw("POST", `${path}/${group}:checkAccountAssociation`, body, stranger.token), Code.PERMISSION_DENIED);
  });

  it("an account association is deleted with its group", async () => {
    const group = await made();
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${group}`)).status, 200);
    assertAbout(await world.raw("GET", `${path}/${group}`), Code.NOT_FOUND, "AccountAssociation", group);
    assert.deepEqual(await world.store.reader.selectFrom("account_association").select("uid").where("uid", "=", group).execute(), []);
  });
});
