import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { newUid } from "../lib/uid.ts";
import { claimsAt } from "./call-event.ts";

test("an organization sees the claims of a person who may join, and the email address only from its own provider", () => {
  const [own, other] = [newUid(""), newUid("")];
  const actor = { iss: "https://acme.test", sub: "kim", email: "kim@acme.test" };
  const { email: _email, ...others } = actor;
  const operators = { mayJoin: true, member: undefined, profile: { actor } } as unknown as PersonAccount;
  const members = { ...operators, member: { provider: { organizationUid: own } } } as unknown as PersonAccount;
  assert.deepEqual(claimsAt(operators, other), actor);
  assert.deepEqual(claimsAt(members, newUid(own)), actor);
  assert.deepEqual(claimsAt(members, other), others);
  assert.deepEqual(claimsAt({ ...members, mayJoin: false }, own), {});
});
