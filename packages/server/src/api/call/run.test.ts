import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { create, type Message } from "@bufbuild/protobuf";
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
    audit: { recorder: { record: () => {} }, isAuditedRead: () => false },
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

test("a call holds no slot while its request is read, and one while it is served", async () => {
  const run = runWith(1);
  for (const operation of [open, listed]) {
    void run(operation, never, as("u"));
    await setImmediate();
  }
  await run(listed, empty(listed), as("u"));
  const served = { ...listed, handler: { kind: "read" as const, handle: () => new Promise<never>(() => {}) } };
  void run(served, empty(served), as("u"));
  await setImmediate();
  for (const operation of [open, listed])
    await assert.rejects(run(operation, empty(operation), as("u")), { code: Code.RESOURCE_EXHAUSTED });
});

test("a call that finds no free slot after its request is read is refused", async () => {
  const run = runWith(1);
  const request = Promise.withResolvers<Message>();
  const late = run(listed, () => request.promise, as("u"));
  const served = { ...listed, handler: { kind: "read" as const, handle: () => new Promise<never>(() => {}) } };
  await setImmediate();
  void run(served, empty(served), as("u"));
  await setImmediate();
  request.resolve(create(listed.method.input));
  await assert.rejects(late, { code: Code.RESOURCE_EXHAUSTED });
});
