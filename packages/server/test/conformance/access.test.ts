/** Every operation of the contract answers exactly the callers that its access annotation admits. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { isInternalOnly } from "@holt/api";
import { PublicContent_Kind, PublicContentService } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import { Capability, CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, httpRequestOf } from "../harness/clients.ts";
import { type ContractOperation, operations } from "../harness/contract.ts";
import { storeNames } from "../harness/harness.ts";
import { hasMethod, methodOf } from "../harness/samples.ts";
import { type Caller, startWorld, type World } from "../harness/world.ts";
import { requestAt } from "./minimal-request.ts";
import { operationSamples, resources } from "./samples.ts";

/** The capabilities that an ordinary organization can grant. */
const ORDINARY = CapabilitySchema.values
  .map(({ number }) => number as Capability)
  .filter((capability) => capability !== Capability.UNKNOWN && capability !== Capability.CAP_INTERNAL && !isInternalOnly(capability));

/** An identity bound at one place to one role, which every test sets to the capabilities that its operation needs. */
interface BoundCaller {
  readonly place: string;
  readonly mayCall: boolean;
  readonly caller: Caller;
}

for (const store of storeNames) {
  describe(`access to operations on ${store}`, () => {
    let world: World;
    let team: string;
    let unbound: Caller;
    let bound: BoundCaller[];
    let neededRole: string;
    /** Bound at the team to all capabilities but one. */
    let almost: Caller;
    let allButOne: string;
    /** A registry token of an anonymous caller, who may read everything that is public. */
    let anonymous: string;
    before(async () => {
      world = await startWorld({ store });
      team = await world.group(world.orgUid, "team");
      const places = [
        { place: "an ancestor", mayCall: true, group: world.orgUid },
        { place: "the group itself", mayCall: true, group: team },
        { place: "a lower group", mayCall: false, group: await world.group(team, "squad") },
        { place: "a sibling", mayCall: false, group: await world.group(world.orgUid, "sibling") },
      ];
      neededRole = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
      bound = await Promise.all(
        places.map(async ({ place, mayCall, group }) => {
          const caller = await world.robot(world.orgUid);
          await world.bind(caller.uid, neededRole, group);
          return { place, mayCall, caller };
        }),
      );
      unbound = await world.robot(world.orgUid);
      almost = await world.robot(world.orgUid);
      allButOne = await world.role(world.orgUid, ORDINARY);
      await world.bind(almost.uid, allButOne, team);
      const kinds = [PublicContent_Kind.IMAGES, PublicContent_Kind.PYTHON, PublicContent_Kind.JAVA];
      await world.must(PublicContentService.method.createPublicContent, { parent: world.orgUid, publicContent: { kinds } });
      const { text } = await world.http("GET", "/token?scope=registry:catalog:*", undefined, {});
      anonymous = (JSON.parse(text) as { token: string }).token;
    });
    after(() => world[Symbol.asyncDispose]());

    /** The codes over REST and gRPC; over gRPC twice if the operation has no REST. */
    const codesOf = async ({ method, hasRest }: ContractOperation, token: string | undefined): Promise<number[]> => {
      const request = requestAt(method, team);
      const clients = [hasRest ? world.rest : world.grpc, world.grpc];
      return Promise.all(clients.map(async (client) => codeOf(await client.call(method, request, token))));
    };
    const both = (code: number) => [code, code];
    const setRole = (uid: string, capabilities: readonly Capability[]) =>
      world.must(RolesService.method.updateRole, {
        role: { uid, capabilities: [...capabilities] },
        updateMask: { paths: ["capabilities"] },
      });

    test("the contract has more than 60 operations, each with its own name", () => {
      assert.ok(operations.length > 60);
      assert.equal(new Set(operations.map(({ name }) => name)).size, operations.length);
    });

    for (const operation of operations) {
      const { name, hasRest, isPublic, isServed, capabilities } = operation;
      const isScoped = operation.isScoped || operationSamples.get(name)?.checksScopeItself === true;
      const admitted = isServed ? answerOf(operation, isScoped) : Code.UNIMPLEMENTED;

      if (isPublic) {
        test(`${name} ignores the tokens of this server`, async () => {
          assert.deepEqual(await codesOf(operation, undefined), both(admitted));
          assert.deepEqual(await codesOf(operation, "garbage"), both(admitted));
        });
        continue;
      }

      test(`${name} refuses callers without a valid token`, async () => {
        assert.deepEqual(await codesOf(operation, undefined), both(Code.UNAUTHENTICATED));
        assert.deepEqual(await codesOf(operation, "garbage"), both(Code.UNAUTHENTICATED));
        const forged = `${world.owner.token.slice(0, -8)}AAAAAAAA`;
        assert.deepEqual(await codesOf(operation, forged), both(Code.UNAUTHENTICATED));
        assert.deepEqual(await codesOf(operation, anonymous), both(Code.UNAUTHENTICATED), "the token of an anonymous caller");
        if (!hasRest) return;
        const { verb, path, body } = httpRequestOf(operation.method, requestAt(operation.method, team));
        const answer = await world.http(verb, path, body, {});
        assert.equal(answer.status, 401);
        assert.match(String(answer.headers["www-authenticate"]), /^Bearer /);
      });

      if (!isScoped) {
        test(`${name} admits every valid token`, async () => {
          for (const { token } of [unbound, almost, world.owner]) assert.deepEqual(await codesOf(operation, token), both(admitted));
        });
        continue;
      }

      const needed = neededOf(capabilities);
      test(`${name} needs ${needed.map(capabilityName).join(" and ")} at its group or above`, async () => {
        await setRole(neededRole, withInternal(needed));
        for (const { place, mayCall, caller } of bound) {
          const codes = await codesOf(operation, caller.token);
          if (mayCall) assert.deepEqual(codes, both(admitted), `held at ${place}`);
          else if (isServed) assert.deepEqual(codes, both(Code.PERMISSION_DENIED), `held at ${place}`);
        }
        if (!isServed) return;
        assert.deepEqual(await codesOf(operation, unbound.token), both(Code.PERMISSION_DENIED));
        for (const missing of needed) {
          await setRole(
            allButOne,
            ORDINARY.filter((capability) => capability !== missing),
          );
          assert.deepEqual(await codesOf(operation, almost.token), both(Code.PERMISSION_DENIED), `without ${capabilityName(missing)}`);
        }
      });
    }
  });
}

/**
 * The answer to the minimal request of an admitted caller. The group exists, but the resource in it does not, and a
 * Create lacks required fields.
 */
function answerOf({ name, method }: ContractOperation, isScoped: boolean): number {
  const special = operationSamples.get(name)?.answer;
  if (special !== undefined) return special;
  if (!isScoped || deletesMissing(method)) return 0;
  return /^(Batch)?Create/.test(method.name) ? Code.INVALID_ARGUMENT : Code.NOT_FOUND;
}

function deletesMissing(method: DescMethodUnary): boolean {
  return resources.some((sample) => sample.deletesMissing && hasMethod(sample, "Delete") && methodOf(sample, "Delete") === method);
}

function capabilityName(capability: Capability): string {
  return CapabilitySchema.value[capability]?.name ?? "";
}

/** Without the internal-only capabilities if there are others: only a role with CAP_INTERNAL can contain them. */
function neededOf(capabilities: readonly Capability[]): readonly Capability[] {
  const others = capabilities.filter((capability) => !isInternalOnly(capability));
  return others.length === 0 ? capabilities : others;
}

/** Adds CAP_INTERNAL, without which a role cannot contain internal-only capabilities. */
function withInternal(capabilities: readonly Capability[]): readonly Capability[] {
  return capabilities.some((capability) => isInternalOnly(capability)) ? [...capabilities, Capability.CAP_INTERNAL] : capabilities;
}
