import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { didYouMean, nearestNames } from "./nearest.ts";

const known = ["name", "order_by", "page_size", "page_token", "uidp.ids", "uidp.descendants_of"];

describe("nearest names", () => {
  it("the nearest name is found for one with a transposed, missing, added or wrong character", () => {
    for (const typo of ["nmae", "nam", "names", "nime"]) assert.deepEqual(nearestNames(typo, known), ["name"]);
  });

  it("nearest names are found whatever their case and separators", () => {
    assert.deepEqual(nearestNames("PageSize", known), ["page_size"]);
    assert.deepEqual(nearestNames("uidp-descendantsof", known), ["uidp.descendants_of"]);
  });

  it("nearest names are sorted by similarity", () => {
    assert.deepEqual(nearestNames("page_tokne", ["page_taken", "page_token"]), ["page_token", "page_taken"]);
  });

  it("there are no nearest names if nothing is similar", () => {
    assert.deepEqual(nearestNames("colour", known), []);
    assert.equal(didYouMean("colour", known), "");
    assert.equal(didYouMean("nmae", known), '; did you mean "name"?');
  });
});
