import assert from "node:assert/strict";
import { test } from "node:test";
import { appliesTo } from "./distributions.ts";

test("an ecosystem applies to its distribution and release, however an SBOM spells the distribution", () => {
  for (const id of ["openEuler", "openeuler", "OPENEULER"]) {
    assert.ok(appliesTo("openEuler:22.03-LTS", `${id} 22.03`), id);
    assert.ok(!appliesTo("openEuler:20.03-LTS", `${id} 22.03`), id);
  }
  assert.ok(appliesTo("Rocky Linux:9", "Rocky 9.4"));
  assert.ok(appliesTo("openSUSE:Leap 15.6", "openSUSE-Leap 15.6"));
});
