import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parsePathTemplate } from "./path-template.ts";

const literal = (text: string) => ({ kind: "literal", text });

describe("a path template", () => {
  it("a path template parses into literals, variables and a verb", () => {
    assert.deepEqual(parsePathTemplate("/iam/v2/groups/{group.uid=**}:requestAccess"), {
      segments: [literal("iam"), literal("v2"), literal("groups"), { kind: "many" }],
      many: 3,
      verb: "requestAccess",
      variables: [{ field: ["group", "uid"], start: 3, end: 4 }],
    });
  });

  it("a path template treats a variable without a pattern as one segment, and allows literals after **", () => {
    assert.deepEqual(parsePathTemplate("/r/{uid=**}/digests/{digest}/size"), {
      segments: [literal("r"), { kind: "many" }, literal("digests"), { kind: "one" }, literal("size")],
      many: 1,
      verb: undefined,
      variables: [
        { field: ["uid"], start: 1, end: 2 },
        { field: ["digest"], start: 3, end: 4 },
      ],
    });
  });

  it("a path template allows a variable of several segments", () => {
    assert.deepEqual(parsePathTemplate("/{name=shelves/*/books/*}").variables, [{ field: ["name"], start: 0, end: 4 }]);
  });

  for (const bad of [
    "",
    "a",
    "/",
    "/a/",
    "//a",
    "/{a",
    "/{a=}",
    "/{=*}",
    "/{a.}",
    "/{a={b}}",
    "/a:",
    "/a:b:c",
    "/a}",
    "/{a=**}/{b=**}",
    "/a*",
  ]) {
    it(`a path template refuses ${JSON.stringify(bad)}`, () => {
      assert.throws(() => parsePathTemplate(bad), { message: /^path template .* expected .* at position \d+$/ });
    });
  }
});
