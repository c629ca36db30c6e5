import assert from "node:assert/strict";
import { test } from "node:test";
import { hasSecondFactor, problemOf } from "./sign-in-policy.ts";

const ORGANIZATION = "0".repeat(40);
const OTHER = "1".repeat(40);
const OPEN = { forbidsLocalAccounts: false, requiresSecondFactor: false, requiresOwnProvider: false };
const through = (organization: string) => ({ provider: `${organization}/0123456789abcdef`, mappings: [], directoryMappings: [] });
const by = (methods: readonly string[], isLocal = false) => ({ auth: { methods, isLocal } });

test("two factors of different kinds count as a second factor, and two of one kind do not", () => {
  for (const methods of [["mfa"], ["pwd", "otp"], ["pin", "hwk"], ["otp", "kba"]])
    assert.equal(hasSecondFactor(methods), true, `${methods}`);
  for (const methods of [[], ["pwd"], ["otp"], ["pwd", "kba"], ["otp", "sms"], ["MFA"]])
    assert.equal(hasSecondFactor(methods), false, `${methods}`);
});

test("a second factor that another organization's provider claims does not count", () => {
  const policy = { ...OPEN, requiresSecondFactor: true };
  assert.equal(problemOf(policy, ORGANIZATION, by(["mfa"])), undefined);
  assert.equal(problemOf(policy, ORGANIZATION, { ...by(["mfa"]), session: through(ORGANIZATION) }), undefined);
  assert.equal(problemOf(policy, ORGANIZATION, { ...by(["mfa"]), session: through(OTHER) }), "SECOND_FACTOR_REQUIRED");
  assert.equal(problemOf(policy, ORGANIZATION, by(["pwd"])), "SECOND_FACTOR_REQUIRED");
});

test("an organization can require its own provider and refuse accounts of this server", () => {
  const own = { ...OPEN, requiresOwnProvider: true };
  assert.equal(problemOf(own, ORGANIZATION, { ...by([]), session: through(ORGANIZATION) }), undefined);
  for (const signedIn of [by(["mfa"]), { ...by([]), session: through(OTHER) }, by([], true)])
    assert.equal(problemOf(own, ORGANIZATION, signedIn), "OWN_PROVIDER_REQUIRED");
  assert.equal(problemOf({ ...OPEN, forbidsLocalAccounts: true }, ORGANIZATION, by(["mfa"], true)), "LOCAL_ACCOUNTS_FORBIDDEN");
  assert.equal(problemOf({ ...OPEN, forbidsLocalAccounts: true }, ORGANIZATION, by([])), undefined);
});

test("tokens that the operator makes and work on behalf of a person satisfy every policy", () => {
  assert.equal(
    problemOf({ forbidsLocalAccounts: true, requiresSecondFactor: true, requiresOwnProvider: true }, ORGANIZATION, {}),
    undefined,
  );
});
