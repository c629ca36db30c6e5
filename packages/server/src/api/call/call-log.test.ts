import assert from "node:assert/strict";
import { describe, it } from "node:test";
import pino from "pino";
import fc from "../../../test/harness/property.ts";
import { createCallLog, type LoggedCall, lineOf } from "./call-log.ts";

const text = fc.string({ unit: "binary" });
const calls: fc.Arbitrary<LoggedCall> = fc.record({
  operation: fc.constant({ name: "platform.iam.v2.GroupsService/GetGroup" }),
  metadata: fc.record({
    requestId: text,
    protocol: fc.constant("rest" as const),
    clientId: fc.option(text, { nil: undefined }),
    remoteAddress: text,
  }),
  principal: fc.option(text, { nil: undefined }),
  ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
});

describe("the log line of a call", () => {
  it("the log line of a call equals the line that pino would write, for any values of the call", () => {
    const time = "2026-11-23T08:00:00.000Z";
    const lines: string[] = [];
    const log = pino({ base: null, timestamp: () => `,"time":"${time}"` }, { write: (line: string) => void lines.push(line) });
    const logCall = createCallLog(log);
    fc.assert(
      fc.property(calls, (call) => {
        logCall(call, undefined);
        assert.equal(lineOf(call, time), lines.pop());
      }),
    );
  });
});
