import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "../../../test/harness/property.ts";
import { nameOfBody, uidOfBody } from "./fields-of-body.ts";

describe("fields of a stored body", () => {
  it("uid and name are found with any characters, wherever the name is", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom('","name":"', "\\", '\\"', "\n", "é"));
    const body = fc.record({
      uid: fc.stringMatching(/^[0-9a-f/]{1,57}$/),
      name: text,
      description: text,
      labels: fc.array(fc.record({ name: text })),
    });
    fc.assert(
      fc.property(body, ({ uid, name, description, labels }) => {
        for (const value of [
          { uid, name, description },
          { uid, description, name },
          { uid, labels, name },
        ]) {
          assert.equal(uidOfBody(JSON.stringify(value)), uid);
          assert.equal(nameOfBody(JSON.stringify(value)), name);
        }
        assert.equal(nameOfBody(JSON.stringify({ uid, description })), "");
      }),
    );
  });
});
