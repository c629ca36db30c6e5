import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../../../test/harness/property.ts";
import { Access } from "../../access/capabilities.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { newUid } from "../../lib/uid.ts";
import { type Narrowing, NOT_NARROWED, narrow, parseNarrowing } from "./narrowing.ts";

const ROOT = newUid("");
const UIDS = [ROOT];
for (let i = 0; i < 9; i++) UIDS.push(newUid(UIDS[Math.floor(i / 2)] ?? ROOT));

const uid = fc.constantFrom(...UIDS);
const bits = fc.bigInt(0n, 15n);
const grants = fc.array(fc.tuple(uid, bits), { maxLength: 6 }).map((entries) => new Access(new Map(entries)));
const wanted: fc.Arbitrary<Narrowing> = fc.record({
  scopes: fc.option(fc.array(uid, { minLength: 1, maxLength: 3 }), { nil: undefined }),
  capabilities: fc.option(bits, { nil: undefined }),
});

test("a token never gains rights, however often it is exchanged", () => {
  fc.assert(
    fc.property(grants, fc.array(wanted, { minLength: 1, maxLength: 4 }), (access, steps) => {
      let inherited = NOT_NARROWED;
      for (const step of steps) {
        const before = access.narrowed(inherited.scopes, inherited.capabilities);
        try {
          inherited = narrow(access, inherited, step);
        } catch (error) {
          assert.ok(error instanceof HoltError && error.code === Code.PERMISSION_DENIED);
          return;
        }
        const after = access.narrowed(inherited.scopes, inherited.capabilities);
        for (const at of UIDS) assert.equal(after.capabilitiesAt(at) & ~before.capabilitiesAt(at), 0n);
      }
    }),
    { numRuns: 20_000 },
  );
});

test("a scope without rights is denied, and capabilities that are not held are dropped", () => {
  const [root = "", child = "", other = ""] = UIDS;
  const access = new Access(new Map([[child, 3n]]));
  assert.throws(
    () => narrow(access, NOT_NARROWED, { scopes: [other], capabilities: undefined }),
    (error) => error instanceof HoltError && error.code === Code.PERMISSION_DENIED,
  );
  assert.throws(() => narrow(access, NOT_NARROWED, { scopes: [root], capabilities: undefined }));
  const { scopes, capabilities } = narrow(access, NOT_NARROWED, { scopes: [child], capabilities: 6n });
  assert.equal(access.narrowed(scopes, capabilities).capabilitiesAt(child), 2n);
});

test("capability names and scope uids are validated, and duplicates and blanks are dropped", () => {
  const [root = "", child = ""] = UIDS;
  assert.deepEqual(parseNarrowing([], []), NOT_NARROWED);
  assert.deepEqual(parseNarrowing([root, "", root, child], []).scopes, [root, child]);
  assert.notEqual(parseNarrowing([], ["groups.list", "groups.create"]).capabilities, undefined);
  for (const [scopes, cap, field] of [
    [["acme"], [], "scopes"],
    [[], ["groups.fly"], "cap"],
    [[], ["CAP_IAM_GROUPS_LIST"], "cap"],
    [[], [""], "cap"],
  ] as const) {
    assert.throws(
      () => parseNarrowing(scopes, cap),
      (error) => error instanceof HoltError && error.code === Code.INVALID_ARGUMENT && error.details.fieldViolations?.[0]?.field === field,
    );
  }
});
