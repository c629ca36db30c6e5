import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "../../test/harness/property.ts";
import { type BusyMember, BusySet } from "./busy-set.ts";

describe("a busy set", () => {
  it("a busy set has the same members as a Set after any additions and deletions", () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(5)));
    fc.assert(
      fc.property(steps, (changes) => {
        const members = Array.from({ length: 6 }, (): BusyMember => ({ place: undefined }));
        const busy = new BusySet();
        const expected = new Set<BusyMember>();
        for (const [isAdded, i] of changes) {
          const member = members[i] as BusyMember;
          if (isAdded) busy.add(member);
          else busy.delete(member);
          if (isAdded) expected.add(member);
          else expected.delete(member);
          assert.deepEqual(new Set(busy.values()), expected);
          assert.equal(busy.size, expected.size);
        }
      }),
    );
  });
});
