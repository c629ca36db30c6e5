/** A field mask of an identity can name fields inside its claim match. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { parse, textOf } from "../harness/json.ts";
import { assertInvalid } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("the field mask of an identity", (world) => {
  test("a path into the claim match changes that field alone", async () => {
    const claimMatch = { issuer: "https://a.example.com", subject: "s", audience: "a", claims: { a: "1" }, claimPatterns: { b: "2" } };
    const { uid } = parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "nested", claimMatch })).text);
    const uri = `/iam/v2/identities/${textOf(uid)}`;
    const patched = async (query: string, body: JsonObject) => {
      const answer = await world.raw("PATCH", uri + query, body);
      assert.equal(answer.status, 200, answer.text);
      return parse(answer.text).claimMatch;
    };
    let expected: JsonObject = { ...claimMatch, issuer: "https://b.example.com" };
    assert.deepEqual(await patched("", { claimMatch: { issuer: "https://b.example.com" } }), expected);
    // A path can name a map, but no entry of it.
    expected = { ...expected, claims: { c: "3" } };
    assert.deepEqual(await patched("", { claimMatch: { claims: { c: "3" } } }), expected);
    expected = { ...expected, claims: {} };
    assert.deepEqual(await patched("", { claimMatch: { claims: {} } }), expected);
    const { subject: _, ...noSubject } = expected;
    expected = { ...noSubject, subjectPattern: "s.*" };
    for (const path of ["claim_match.subject_pattern", "claimMatch.subjectPattern"]) {
      const body = { name: "not this", claimMatch: { subjectPattern: "s.*", issuer: "https://not-this.example.com" } };
      assert.deepEqual(await patched(`?updateMask=${path}`, body), expected);
      assert.equal(parse((await world.raw("GET", uri)).text).name, "nested");
    }
    assertInvalid(await world.raw("PATCH", `${uri}?updateMask=claimMatch.nonsense`, {}), "update_mask");
    assertInvalid(await world.raw("PATCH", `${uri}?updateMask=claimMatch.claims.c`, {}), "update_mask");
  });
});
