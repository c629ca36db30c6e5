import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability, CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { uidFromText } from "../../src/lib/uid.ts";
import { codeOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertPrecondition, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const DOCUMENTED_VIEWER = "63921b2c44617e3f2603851537be0123af4a57d7";
const DOCUMENTED_NAMES = ["owner", "editor", "viewer", "limited_owner", "console_viewer", "registry.pull", "registry.push"].concat(
  ["registry.pull_token_creator", "apk.pull", "apk.push", "guardener.user", "guardener.admin", "actions.viewer", "argos.osv.reader"],
  ["java", "python", "javascript"].flatMap((each) => ["pull", "push", "pull_token_creator"].map((role) => `libraries.${each}.${role}`)),
  ["dotnet", "go"].flatMap((each) => ["pull", "push"].map((role) => `libraries.${each}.${role}`)),
);

describeWithWorld("roles", (world) => {
  const path = "/iam/v2/roles";
  const post = (body: JsonObject, token?: string) => world.raw("POST", `${path}/${world.orgUid}`, { name: "role", ...body }, token);
  const make = async (...capabilities: (string | number)[]): Promise<JsonObject> => parse((await post({ capabilities })).text);
  const patch = (uid: unknown, body: JsonObject, query = "", token?: string) => world.raw("PATCH", `${path}/${uid}${query}`, body, token);
  const list = async (query: string, token?: string) =>
    parse((await world.raw("GET", `${path}?page_size=200&${query}`, undefined, token)).text).roles as JsonObject[];

  it("built-in roles have their documented names and are readable by everyone", async () => {
    const nobody = await world.user();
    const roles = await list("uidp.inRoot=true", nobody.token);
    assert.deepEqual(
      DOCUMENTED_NAMES.filter((name) => !roles.some((role) => role.name === name)),
      [],
    );
    assert.deepEqual(await list("", nobody.token), roles);
    for (const role of roles) {
      assert.deepEqual(parse((await world.raw("GET", `${path}/${textOf(role.uid)}`, undefined, nobody.token)).text), role);
      assert.match(textOf(role.description), /^\S.* Role \(built-in\)$/);
    }
  });

  it("built-in roles have the same uid in every installation, and viewer has the documented one", async () => {
    assert.equal(await builtInRole(world, "viewer"), DOCUMENTED_VIEWER);
    assert.equal(await builtInRole(world, "owner"), uidFromText("builtin-role:owner"));
  });

  it("built-in roles contain their documented capabilities", async () => {
    const of = async (name: string) => ((await list(`name=${name}`))[0]?.capabilities ?? []) as string[];
    const [owner, viewer, limited] = [await of("owner"), await of("viewer"), await of("limited_owner")];
    assert.equal(owner.length, 147);
    assert.ok(!owner.includes("CAP_INTERNAL") && !owner.includes("CAP_REPO_INTERNAL_ADMIN"));
    assert.deepEqual(
      limited.filter((capability) => !viewer.includes(capability)),
      ["CAP_IAM_ROLE_BINDINGS_CREATE", "CAP_IAM_IDENTITY_CREATE"],
    );
    assert.ok(!(await of("registry.pull_token_creator")).includes("CAP_IAM_IDENTITY_LIST"));
  });

  it("built-in roles are listed before custom roles of the same name", async () => {
    assert.equal((await list("name=viewer")).length, 1);
    await Promise.all(["viewer", "viewer2"].map((name) => post({ name, capabilities: ["CAP_REPO_LIST"] })));
    const [first, second, ...more] = await list("name=viewer");
    assert.deepEqual([first?.uid, textOf(second?.uid).startsWith(world.orgUid), more], [DOCUMENTED_VIEWER, true, []]);
    const places = (await list("")).map(({ uid }) => textOf(uid).includes("/"));
    assert.deepEqual(places, places.toSorted());
  });

  it("built-in roles cannot be changed or deleted", async () => {
    const owner = await world.user();
    await world.bind(owner.uid, await builtInRole(world, "owner"), world.orgUid);
    const before = await world.raw("GET", `${path}/${DOCUMENTED_VIEWER}`);
    for (const token of [owner.token, world.owner.token]) {
      assertRefused(await patch(DOCUMENTED_VIEWER, { name: "mine" }, "", token), Code.PERMISSION_DENIED);
      assertRefused(await world.raw("DELETE", `${path}/${DOCUMENTED_VIEWER}`, undefined, token), Code.PERMISSION_DENIED);
    }
    assert.equal((await world.raw("GET", `${path}/${DOCUMENTED_VIEWER}`)).text, before.text);
  });

  it("a custom role is readable by callers that may list roles in its organization", async () => {
    const { uid } = await make("CAP_REPO_LIST");
    const lister = await world.robot(world.orgUid, [Capability.CAP_IAM_ROLES_LIST]);
    const stranger = await world.user();
    assert.equal((await world.raw("GET", `${path}/${uid}`, undefined, lister.token)).status, 200);
    assert.equal((await list(`uidp.ids=${uid}`, lister.token)).length, 1);
    assertRefused(await world.raw("GET", `${path}/${uid}`, undefined, stranger.token), Code.PERMISSION_DENIED);
    assert.equal((await list(`uidp.ids=${uid}`, stranger.token)).length, 0);
  });

  it("a role must have at least one capability", async () => {
    assertInvalid(await post({}), "capabilities");
    assertInvalid(await post({ capabilities: [] }), "capabilities");
    const { uid } = await make("CAP_REPO_LIST");
    assertInvalid(await patch(uid, { capabilities: [] }), "capabilities");
    assertInvalid(await patch(uid, { name: "a" }, "?updateMask=capabilities"), "capabilities");
    assertInvalid(await patch(uid, { name: "a" }, "?updateMask=*"), "capabilities");
    const renamed = parse((await patch(uid, { name: "renamed" })).text);
    assert.deepEqual([renamed.name, renamed.capabilities], ["renamed", ["CAP_REPO_LIST"]]);
  });

  it("a capability can be given by either of its names, also in a query", async () => {
    const made = await make("groups.list", "CAP_IAM_ROLES_LIST", "CAP_IAM_GROUPS_LIST");
    assert.deepEqual(made.capabilities, ["CAP_IAM_GROUPS_LIST", "CAP_IAM_ROLES_LIST"]);
    const explain = (capability: string) =>
      world.raw("GET", `/holt/v1/access/${world.orgUid}:explain?identityUid=${world.owner.uid}&capability=${capability}`);
    assert.equal((await explain("groups.list")).text, (await explain("CAP_IAM_GROUPS_LIST")).text);
    assert.equal((await explain("groups.list")).status, 200);
  });

  it("a role has each capability once, sorted by number", async () => {
    const made = await make("CAP_REPO_LIST", "CAP_IAM_GROUPS_LIST", 1605, "CAP_IAM_GROUPS_CREATE", "CAP_REPO_LIST");
    assert.deepEqual(made.capabilities, ["CAP_IAM_GROUPS_CREATE", "CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST"]);
    const changed = parse((await patch(made.uid, { capabilities: ["CAP_REPO_UPDATE", "CAP_REPO_CREATE", "CAP_REPO_UPDATE"] })).text);
    assert.deepEqual(changed.capabilities, ["CAP_REPO_CREATE", "CAP_REPO_UPDATE"]);
    // The same capabilities in another order are not a change.
    world.clock.advance(1000);
    const same = parse((await patch(made.uid, { capabilities: ["CAP_REPO_UPDATE", "CAP_REPO_CREATE"] })).text);
    assert.deepEqual(same, changed);
  });

  it("a role with an unknown capability name or number is rejected", async () => {
    assertRefused(await post({ capabilities: ["CAP_NONSENSE"] }), Code.INVALID_ARGUMENT);
    for (const [name, nearest] of [
      ["CAP_IAM_GROUP_LIST", "CAP_IAM_GROUPS_LIST"],
      ["groups.lst", "groups.list"],
      ["x".repeat(5000), "Capability"],
    ] as const) {
      const { status, text } = await post({ capabilities: [name] });
      assert.equal(status, 400);
      assert.ok(text.includes(nearest) && text.length < 1000, text.slice(0, 2000));
    }
    for (const number of [0, 1, 1601, 99999]) {
      const role = { name: "a", capabilities: [number as Capability] };
      const outcome = await world.grpc.call(RolesService.method.createRole, { parent: world.orgUid, role }, world.owner.token);
      assert.equal(codeOf(outcome), Code.INVALID_ARGUMENT, String(number));
    }
  });

  it("a role may have deprecated capabilities", async () => {
    assert.deepEqual((await make("CAP_TENANT_CLUSTERS_LIST")).capabilities, ["CAP_TENANT_CLUSTERS_LIST"]);
  });

  it("a role with internal-only capabilities includes the internal one and can be created only by its holders", async () => {
    assertInvalid(await post({ capabilities: ["CAP_REPO_INTERNAL_ADMIN"] }), "capabilities");
    const both = { capabilities: ["CAP_INTERNAL", "CAP_REPO_INTERNAL_ADMIN"] };
    assert.equal((await post(both)).status, 200);
    const owner = await world.user();
    await world.bind(owner.uid, await builtInRole(world, "owner"), world.orgUid);
    assertRefused(await post(both, owner.token), Code.PERMISSION_DENIED);
    assertRefused(await post({ capabilities: ["CAP_INTERNAL"] }, owner.token), Code.PERMISSION_DENIED);
    const { uid } = await make("CAP_REPO_LIST");
    assertRefused(await patch(uid, both, "", owner.token), Code.PERMISSION_DENIED);
    const narrow = await world.narrow(world.owner, { cap: ["roles.create"] });
    assertRefused(await post(both, narrow.token), Code.PERMISSION_DENIED);
    const staff = await world.robot(world.orgUid, [Capability.CAP_INTERNAL, Capability.CAP_IAM_ROLES_CREATE]);
    assert.equal((await post(both, staff.token)).status, 200);
  });

  it("a role may have capabilities that its creator does not hold", async () => {
    const maker = await world.robot(world.orgUid, [Capability.CAP_IAM_ROLES_CREATE]);
    assert.equal((await post({ capabilities: ["CAP_REPO_DELETE"] }, maker.token)).status, 200);
  });

  it("only a holder of a capability can add it to a bound role, and anyone may remove it", async () => {
    const changer = await world.robot(world.orgUid, [Capability.CAP_IAM_ROLES_UPDATE, Capability.CAP_REPO_LIST]);
    const { uid } = await make("CAP_IAM_GROUPS_LIST", "CAP_IAM_GROUPS_DELETE");
    const set = (...capabilities: string[]) => patch(uid, { capabilities }, "", changer.token);
    // The role is not bound, so nothing is given to anyone.
    assert.equal((await set("CAP_IAM_GROUPS_LIST", "CAP_IAM_GROUPS_DELETE", "CAP_REPO_DELETE")).status, 200);
    const binding = await world.bind((await world.user()).uid, textOf(uid), world.orgUid);
    assertRefused(await set("CAP_IAM_GROUPS_LIST", "CAP_REPO_DELETE", "CAP_REPO_CREATE"), Code.PERMISSION_DENIED);
    assert.equal((await set("CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST")).status, 200);
    assertRefused(await set("CAP_IAM_GROUPS_LIST", "CAP_IAM_GROUPS_DELETE"), Code.PERMISSION_DENIED);
    await world.raw("DELETE", `/iam/v2/roleBindings/${binding}`);
    assert.equal((await set("CAP_IAM_GROUPS_DELETE")).status, 200);
  });

  it("a bound role cannot be deleted", async () => {
    const { uid } = await make("CAP_REPO_LIST");
    const binding = await world.bind(uidFromText("somebody"), textOf(uid), world.orgUid);
    const refused = await world.raw("DELETE", `${path}/${uid}`);
    assertPrecondition(refused, "RESOURCE_IN_USE", "cannot delete role while it is bound to an identity");
    await world.raw("DELETE", `/iam/v2/roleBindings/${binding}`);
    assert.equal((await world.raw("DELETE", `${path}/${uid}`)).status, 200);
    assertAbout(await world.raw("DELETE", `${path}/${uid}`), Code.NOT_FOUND, "Role", textOf(uid));
  });

  it("a role may have every capability at once", async () => {
    const names = CapabilitySchema.values.filter(({ number }) => number !== 0).map(({ name }) => name);
    assert.equal(((await make(...names)).capabilities as string[]).length, names.length);
  });
});
