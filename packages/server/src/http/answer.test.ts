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

  it("slices grow with what the reader takes in half of the idle limit, and shrink again", () => {
    using answers = new Answers(defaultLimits);
    const slices: number[] = [];
    const sent: OnWritten[] = [];
    const write = (bytes: Uint8Array, onSent: OnWritten) => slices.push(bytes.length / SLICE_BYTES) + sent.push(onSent) > 0;
    const output = new SlicedOutput(new Answer(answers, client, carrier), { write, end() {}, emit() {} });
    const takeAll = () => {
      for (let onSent = sent.shift(); onSent !== undefined; onSent = sent.shift()) onSent();
      return slices.splice(0);
    };
    output.write(Buffer.alloc(16 * SLICE_BYTES));
    assert.deepEqual(takeAll(), [1, 1, 2, 4, 4, 4]);
    answers.checks += 1;
    output.write(Buffer.alloc(16 * SLICE_BYTES));
    assert.deepEqual(takeAll(), [4, 4, 4, 4]);
    answers.checks += 2;
    output.write(Buffer.alloc(4 * SLICE_BYTES));
    assert.deepEqual(takeAll(), [1, 1, 2]);
  });
});
