import assert from "node:assert/strict";
import { test } from "node:test";
import { encodePeople, encodePerson, MAX_PEOPLE } from "./people.ts";

test("the same people get the same encoding, in any order and with duplicates", () => {
  assert.equal(encodePeople(["b", "a", "b", ""]), encodePeople(["a", "b"]));
  assert.equal(encodePeople([""]), "");
});

test("an encoding contains a person only if that person was encoded", () => {
  const people = ["a", "ab", "b", "", ".", "é", "A"];
  for (const present of people)
    for (const asked of people.filter((name) => name !== ""))
      assert.equal(encodePeople([present, "z"]).includes(encodePerson(asked)), present === asked);
});

test("the encoding of any number of people is short enough for an index", () => {
  const crowd = Array.from({ length: 10 * MAX_PEOPLE }, (_, i) => `person ${i}`);
  assert.ok(encodePeople(crowd).length <= 12 * MAX_PEOPLE);
  assert.ok(encodePeople(crowd).includes(encodePerson(`person ${MAX_PEOPLE - 1}`)));
});
