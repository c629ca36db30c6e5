import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { create, type DescField, type DescMessage, type DescMethodUnary, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { fieldBehavior, http, iam, iamScope, isInternalOnly, services } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { Capability, CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { unimplemented } from "../../src/unimplemented.ts";
import { codeOf, httpRequestOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import { type Caller, startWorld, type World } from "../harness/world.ts";

const MISSING = "0123456789abcdef";
/** What an ordinary organization can hand out. */
const ORDINARY = CapabilitySchema.values
  .map(({ number }) => number as Capability)
  .filter((capability) => capability !== Capability.UNKNOWN && capability !== Capability.CAP_INTERNAL && !isInternalOnly(capability));
/** Public in the contract, since their callers bring a proof that is no token of ours. */
const PROVES_ITSELF = new Set([
  "platform.auth.v1.Auth/Register",
  "platform.oidc.v1.SecurityTokenService/Exchange",
  "platform.oidc.v1.SecurityTokenService/ExchangeRefreshToken",
]);
/** Unscoped in the contract, because what they ask for depends on the request; then it is asked for at the marked field or the parent. */
const SCOPED_BY_HANDLER = new Set(["platform.iam.v2.GroupsService/CreateGroup", "platform.iam.v2.RolesService/GetRole"]);

/** What these ask for at a group succeeds there, or is so already. */
const SUCCEEDING = new Set([
  "platform.iam.v2.RoleBindingsService/DeleteRoleBinding",
  "platform.iam.v2.AccountAssociationsService/DeleteAccountAssociation",
  "platform.iam.v2.TermsService/AcceptTerms",
  "platform.iam.v2.TermsService/ListTermsAcceptances",
  "holt.v1.EventsService/ListEvents",
  "holt.v1.ImportsService/CreateImport",
  "holt.v1.ImportsService/ListImports",
]);
/** Open to everybody or to every token, but not for what the tests ask of them. */
const REFUSING: ReadonlyMap<string, number> = new Map([
  // Of somebody else's account.
  ["platform.auth.v1.Auth/Delete", Code.PERMISSION_DENIED],
  // Nobody has finished a login with this key.
  ["platform.auth.v1.Auth/GetHeadlessSession", Code.NOT_FOUND],
  // Of an artifact that is not there.
  ["platform.libraries.v2.ArtifactsService/ListArtifactVersions", Code.NOT_FOUND],
  // Of no days.
  ["platform.advisory.v1.SecurityAdvisory/ListResolvedVulnsReports", Code.INVALID_ARGUMENT],
  ["platform.advisory.v2.SecurityAdvisoryService/ListResolvedVulnsReports", Code.INVALID_ARGUMENT],
  // For who has no email.
  ["platform.iam.v2.GroupsService/LookupGroup", Code.NOT_FOUND],
  ["platform.iam.v2.GroupsService/RequestGroupAccess", Code.NOT_FOUND],
]);

interface ContractOperation {
  readonly name: string;
  readonly method: DescMethodUnary;
  readonly isPublic: boolean;
  readonly isScoped: boolean;
  readonly capabilities: readonly Capability[];
}

const operations: readonly ContractOperation[] = services.flatMap((service) =>
  service.methods.map((method): ContractOperation => {
    const name = `${service.typeName}/${method.name}`;
    const mode = hasOption(method, iam) ? getOption(method, iam).mode : undefined;
    const enabled = mode?.case === "enabled" ? mode.value : undefined;
    const capabilities = enabled?.capabilities ?? [];
    const isScoped = (capabilities.length > 0 && enabled?.unscoped === false) || SCOPED_BY_HANDLER.has(name);
    return { name, method: method as DescMethodUnary, isPublic: enabled === undefined, isScoped, capabilities };
  }),
);

for (const store of storeNames) {
  describe(`access on ${store}`, () => {
    let world: World;
    let team: string;
    let nobody: Caller;
    /** Each is bound to one role, which every test sets to what its operation needs. */
    let bound: { readonly title: string; readonly mayCall: boolean; readonly caller: Caller }[];
    let wanted: string;
    /** Bound at the team to all capabilities but one. */
    let almost: Caller;
    let allButOne: string;
    before(async () => {
      world = await startWorld({ store });
      team = await world.group(world.orgUid, "team");
      const places = [
        { title: "an ancestor", mayCall: true, group: world.orgUid },
        { title: "the very group", mayCall: true, group: team },
        { title: "a lower group", mayCall: false, group: await world.group(team, "squad") },
        { title: "a sibling", mayCall: false, group: await world.group(world.orgUid, "sibling") },
      ];
      wanted = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
      bound = await Promise.all(
        places.map(async ({ title, mayCall, group }) => {
          const caller = await world.robot(world.orgUid);
          await world.bind(caller.uid, wanted, group);
          return { title, mayCall, caller };
        }),
      );
      nobody = await world.robot(world.orgUid);
      almost = await world.robot(world.orgUid);
      allButOne = await world.role(world.orgUid, ORDINARY);
      await world.bind(almost.uid, allButOne, team);
    });
    after(() => world[Symbol.asyncDispose]());

    const codesOf = async ({ method }: ContractOperation, token: string | undefined): Promise<number[]> => {
      const request = requestAt(method, team);
      return Promise.all([world.rest, world.grpc].map(async (client) => codeOf(await client.call(method, request, token))));
    };
    const both = (code: number) => [code, code];
    const setRole = (uid: string, capabilities: readonly Capability[]) =>
      world.must(RolesService.method.updateRole, {
        role: { uid, capabilities: [...capabilities] },
        updateMask: { paths: ["capabilities"] },
      });

    it("is decided for every operation of the contract", () => {
      assert.ok(operations.length > 60);
      assert.equal(new Set(operations.map(({ name }) => name)).size, operations.length);
    });

    for (const operation of operations) {
      const { name, isPublic, isScoped, capabilities } = operation;
      const isServed = !unimplemented.has(name);

      if (isPublic) {
        it(`${name} looks at no token of ours`, async () => {
          const expected = !isServed ? Code.UNIMPLEMENTED : PROVES_ITSELF.has(name) ? Code.UNAUTHENTICATED : (REFUSING.get(name) ?? 0);
          assert.deepEqual(await codesOf(operation, undefined), both(expected));
          assert.deepEqual(await codesOf(operation, "garbage"), both(expected));
        });
        continue;
      }

      it(`${name} is closed without a valid token`, async () => {
        assert.deepEqual(await codesOf(operation, undefined), both(Code.UNAUTHENTICATED));
        assert.deepEqual(await codesOf(operation, "garbage"), both(Code.UNAUTHENTICATED));
        const forged = `${world.owner.token.slice(0, -8)}AAAAAAAA`;
        assert.deepEqual(await codesOf(operation, forged), both(Code.UNAUTHENTICATED));
        const { verb, path, body } = httpRequestOf(operation.method, requestAt(operation.method, team));
        const answer = await world.http(verb, path, body, {});
        assert.equal(answer.status, 401);
        assert.match(String(answer.headers["www-authenticate"]), /^Bearer /);
      });

      if (!isScoped) {
        it(`${name} is open to every valid token`, async () => {
          const expected = isServed ? (REFUSING.get(name) ?? 0) : Code.UNIMPLEMENTED;
          for (const { token } of [nobody, almost, world.owner]) assert.deepEqual(await codesOf(operation, token), both(expected));
        });
        continue;
      }

      const needed = neededOf(capabilities);
      it(`${name} needs ${needed.map((capability) => CapabilitySchema.value[capability]?.name).join(" and ")} at its group or above`, async () => {
        await setRole(wanted, withInternal(needed));
        for (const { title, mayCall, caller } of bound) {
          const codes = await codesOf(operation, caller.token);
          if (mayCall) assert.deepEqual(codes, both(isServed ? servedCode(operation) : Code.UNIMPLEMENTED), `held at ${title}`);
          else if (isServed) assert.deepEqual(codes, both(Code.PERMISSION_DENIED), `held at ${title}`);
        }
        if (!isServed) return;
        assert.deepEqual(await codesOf(operation, nobody.token), both(Code.PERMISSION_DENIED));
        for (const missing of needed) {
          await setRole(
            allButOne,
            ORDINARY.filter((capability) => capability !== missing),
          );
          assert.deepEqual(
            await codesOf(operation, almost.token),
            both(Code.PERMISSION_DENIED),
            `without ${CapabilitySchema.value[missing]?.name}`,
          );
        }
      });
    }
  });
}

/** Whoever may call asks for something that is missing, or gives too little to make or to try anything; but the group is there. */
function servedCode({ name, method }: ContractOperation): number {
  if (SUCCEEDING.has(name)) return 0;
  if (name === "holt.v1.AccessService/TestToken") return Code.INVALID_ARGUMENT;
  return /^(Batch)?Create/.test(method.name) ? Code.INVALID_ARGUMENT : Code.NOT_FOUND;
}

/** Internal-only capabilities beside others are waived: a role can only have them where CAP_INTERNAL can be given. */
function neededOf(capabilities: readonly Capability[]): readonly Capability[] {
  const others = capabilities.filter((capability) => !isInternalOnly(capability));
  return others.length === 0 ? capabilities : others;
}

/** Internal-only capabilities come together with CAP_INTERNAL. */
function withInternal(capabilities: readonly Capability[]): readonly Capability[] {
  return capabilities.some((capability) => isInternalOnly(capability)) ? [...capabilities, Capability.CAP_INTERNAL] : capabilities;
}

/** A request whose scope is the group, or something missing in it; what else is required has some value. */
function requestAt(method: DescMethodUnary, group: string): Message {
  const request = create(method.input);
  setScope(method.input, request, group);
  const variables = JSON.stringify(getOption(method, http).pattern.value);
  for (const field of method.input.fields) {
    const isVariable = variables.includes(`{${field.name}`);
    // A list of messages cannot stand in a query, so over REST nobody sends one with a GET.
    if (field.fieldKind === "list" && field.listKind === "message" && getOption(method, http).body === "") continue;
    if (isRequired(field) || isVariable) setSomething(field, request as unknown as Record<string, unknown>);
  }
  return request;
}

function setScope(schema: DescMessage, message: Message, group: string): void {
  const values = message as unknown as Record<string, unknown>;
  for (const field of schema.fields) {
    const isMarked = (hasOption(field, iamScope) && getOption(field, iamScope)) || field.name === "parent";
    if (!isMarked) continue;
    if (field.fieldKind === "scalar") values[field.localName] = field.name === "uid" ? `${group}/${MISSING}` : group;
    if (field.fieldKind === "message") {
      const inner = create(field.message);
      setScope(field.message, inner, group);
      values[field.localName] = inner;
    }
  }
}

function setSomething(field: DescField, values: Record<string, unknown>): void {
  const { localName } = field;
  if (field.fieldKind === "message") values[localName] ??= create(field.message);
  if (field.fieldKind === "enum") values[localName] ||= 1;
  if (field.fieldKind === "scalar" && values[localName] === "") values[localName] = "x";
  if (field.fieldKind === "list" && (values[localName] as unknown[]).length === 0)
    values[localName] = [field.listKind === "message" ? create(field.message) : field.listKind === "enum" ? 1 : "x"];
}

function isRequired(field: DescField): boolean {
  return hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(FieldBehavior.REQUIRED);
}
