import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { services } from "@holt/api";
import { createCallLimit } from "../../jobs/limit.ts";
import { Code, invalidArgument, unauthenticated } from "../../lib/errors.ts";
import { createLog } from "../../lib/log.ts";
import type { CallMetadata, MessageSource } from "./call.ts";
import { compileOperations, fullName, type Operation } from "./operation.ts";
import { createRun, type Run, type RunDependencies } from "./run.ts";

const all = compileOperations(services, [], new Set(services.flatMap((service) => service.methods.map(fullName))));

/** An operation of the contract with a handler that answers an empty message. */
function operationOf(name: string): Operation {
  const operation = all.find((each) => each.name === name);
  assert.ok(operation);
  return { ...operation, validate: () => {}, handler: { kind: "read", handle: async () => create(operation.method.output) } };
}
const listed = operationOf("platform.iam.v2.GroupsService/ListGroups");
const open = operationOf("platform.oidc.v1.SecurityTokenService/Exchange");

function runWith(maxConcurrentCalls: number): Run {
  const authenticator = {
    verify: async (token: string) => {
      if (token === "bad") throw unauthenticated("no such token");
      return { uid: token };
    },
    load: async () => ({ exists: true, access: { narrowed: () => ({}) } }),
  };
  const parts = {
    authenticator,
    log: createLog("silent"),
    clock: { now: () => new Date() },
    store: {},
    requiredTerms: [],
    limit: createCallLimit(maxConcurrentCalls),
  };
  return createRun(parts as unknown as RunDependencies);
}

const as = (token: string) => ({ authorization: `Bearer ${token}`, identify: () => {} }) as unknown as CallMetadata;
const empty =
  ({ method }: Operation): MessageSource =>
  () =>
    create(method.input);
const never: MessageSource = () => new Promise(() => {});

test("a request is read only after its caller is authenticated", async () => {
  const source = () => assert.fail("it was read");
  await assert.rejects(runWith(1)(listed, source, as("bad")), { code: Code.UNAUTHENTICATED });
});

test("an unreadable request is refused and gives its slot back", async () => {
  const run = runWith(1);
  const source = async () => Promise.reject(invalidArgument("", "nonsense"));
  for (let i = 0; i < 3; i++) await assert.rejects(run(listed, source, as("u")), { code: Code.INVALID_ARGUMENT });
  await run(listed, empty(listed), as("u"));
});

test("a caller with a token takes a slot before its request is read, an anonymous caller only afterwards", async () => {
  const run = runWith(1);
  void run(open, never, as(""));
  await run(listed, empty(listed), as("u"));
  void run(listed, never, as("u"));
  await assert.rejects(run(listed, empty(listed), as("u")), { code: Code.RESOURCE_EXHAUSTED });
  await assert.rejects(run(open, empty(open), as("")), { code: Code.RESOURCE_EXHAUSTED });
});
