import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertNoneShadowed, compileMounts } from "./mount.ts";

const mount = (...paths: string[]) => ({ paths, serve: () => {} });

describe("mounts", () => {
  it("mounts are found by their exact path and by their prefix", () => {
    const [exact, below] = [mount("/v2"), mount("/v2/*")];
    const find = compileMounts([exact, below]);
    assert.equal(find("/v2"), exact.serve);
    assert.equal(find("/v2/a/b"), below.serve);
    assert.equal(find("/v2a"), undefined);
  });

  for (const [first, second] of [
    ["/a", "/a"],
    ["/a/*", "/a/*"],
    ["/a/*", "/a/b"],
    ["/a/b/*", "/a/*"],
    ["/*", "/a/*"],
  ] as const) {
    it(`mounts ${first} and ${second} are refused because they overlap`, () => {
      assert.throws(() => compileMounts([mount(first), mount(second)]), /overlap/);
      assert.throws(() => compileMounts([mount(second, first)]), /overlap/);
    });
  }

  it("mounts are refused if they take paths from the contract", () => {
    const templates = ["/iam/v2/groups", "/iam/v2/groups/{uid=**}", "/sts/exchange"];
    assertNoneShadowed([mount("/v2/*", "/iam", "/iam/v2/groupsx", "/sts")], templates);
    for (const path of ["/iam/*", "/iam/v2/groups", "/iam/v2/groups/x", "/iam/v2/groups/x/*", "/sts/*"])
      assert.throws(() => assertNoneShadowed([mount(path)], templates), /from the contract/, path);
  });
});
