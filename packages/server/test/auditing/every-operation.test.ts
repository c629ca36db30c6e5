/** Every operation that changes something writes exactly one audit entry, in its own transaction. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, hasOption } from "@bufbuild/protobuf";
import { events } from "@holt/api";
import { describeWithSamples } from "../conformance/samples.ts";
import { succeedingCall } from "../conformance/succeeding-call.ts";
import { httpRequestOf } from "../harness/clients.ts";
import { operations } from "../harness/contract.ts";
import { parse } from "../harness/json.ts";
import { entriesAfter, lastSeq } from "./audit-log.ts";

const evented = operations.filter(({ method, isServed }) => hasOption(method, events) && isServed);

describeWithSamples("the audit log of operations", (world) => {
  for (const operation of evented) {
    const { name, method } = operation;
    test(`${name} writes exactly one audit entry`, async () => {
      const call = await succeedingCall(world, operation);
      const before = await lastSeq(world);
      world.clock.advance(1000);
      const { verb, path, body } = httpRequestOf(method, fromJson(method.input, call.request));
      const answer = await world.raw(verb, path, body, call.token);
      assert.equal(answer.status, 200, answer.text);
      const entries = await entriesAfter(world, before);
      assert.equal(entries.length, 1, JSON.stringify(entries.map(({ action }) => action)));
      const [entry] = entries;
      assert.equal(entry?.action, name);
      assert.equal(entry?.outcome, "OK");
      assert.equal(entry?.target, call.subject(answer.text === "" ? {} : parse(answer.text)));
      assert.equal(entry?.actor, call.isAnonymous ? entry?.actor : (call.actor ?? world.owner.uid));
      assert.equal(entry?.time, world.clock.now().toISOString());
      assert.equal(entry?.remote_address, "127.0.0.1");
      assert.notEqual(entry?.request_id, "");
      const details = entry?.details ?? {};
      assert.ok("changes" in details || "request" in details, JSON.stringify(details));
    });
  }
});
