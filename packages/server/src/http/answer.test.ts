import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Answer, Answers } from "./answer.ts";
import type { OnWritten } from "./sliced-output.ts";
import { SLICE_BYTES, SlicedOutput } from "./sliced-output.ts";
import { defaultLimits } from "./transport-limits.ts";

const client = { address: "192.0.2.1", network: "192.0.2.1", identify: () => {} };
const carrier = { isBlocked: () => false, breakOff: () => {} };

describe("the bytes of an answer", () => {
  it("bytes that a handler writes after the client has left are not counted", () => {
    using answers = new Answers(defaultLimits);
    const answer = new Answer(answers, client, carrier);
    answer.identify("caller");
    answer.add(1000);
    answer.close();
    answer.add(answers.known.limits.bytesPerHolder);
    answers.known.assertFits("caller", answers.known.limits.bytesPerHolder);
    assert.equal(answers.waiting.size, 0);
  });

  it("each writer of a stream that fails learns of it, and no bytes stay counted", () => {
    using answers = new Answers(defaultLimits);
    const answer = new Answer(answers, client, carrier);
    const sent: OnWritten[] = [];
    const output = new SlicedOutput(answer, { write: (_bytes, onSent) => sent.push(onSent) > 0, end() {}, emit() {} });
    const outcomes: unknown[] = [];
    for (const n of [1, 2]) output.write(Buffer.alloc(n * 2 * SLICE_BYTES), (error) => outcomes.push(error?.message));
    sent[0]?.(new Error("closed"));
    answer.close();
    assert.deepEqual(outcomes, ["closed", "closed"]);
    assert.equal(answers.waiting.size, 0);
    answers.anonymous.assertFits(client.network, answers.anonymous.limits.bytesPerHolder);
  });
});
