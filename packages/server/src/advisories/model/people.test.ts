import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_PEOPLE, peopleText, personIn } from "./people.ts";

test("the same people are the same text, in whatever order and however often", () => {
  assert.equal(peopleText(["b", "a", "b", ""]), peopleText(["a", "b"]));
  assert.equal(peopleText([""]), "");
});

test("a person is found in a text of people only where it is one of them", () => {
  const people = ["a", "ab", "b", "", ".", "é", "A"];
  for (const present of people)
    for (const asked of people.filter((name) => name !== ""))
      assert.equal(peopleText([present, "z"]).includes(personIn(asked)), present === asked);
});

test("the text of any number of people stays short enough for an index", () => {
  const crowd = Array.from({ length: 10 * MAX_PEOPLE }, (_, i) => `person ${i}`);
  assert.ok(peopleText(crowd).length <= 12 * MAX_PEOPLE);
  assert.ok(peopleText(crowd).includes(personIn(`person ${MAX_PEOPLE - 1}`)));
});
