/** Attempts to sign in or to recover an account that do not count as wrong guesses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkOwner, checkPassword } from "../../src/iam/accounts/check-credentials.ts";
import type { LocalAccountParts } from "../../src/iam/accounts/local-account-parts.ts";
import { createGuessLimit } from "../../src/iam/pull-tokens/guess-limit.ts";
import type { LocalAccountTable } from "../../src/iam/tables.ts";
import { resourceExhausted } from "../../src/lib/errors.ts";
import { alertOf, createHolder, PASSWORD, submitTo } from "../harness/sign-in/account-visitor.ts";
import { startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const ONE_GUESS = {
  windowMs: 60_000,
  maxWrongPerUserName: 1,
  maxWrongPerAddress: 1,
  maxWrongFromAllAddresses: 1,
  refusal: "too many guesses",
};

test("an attempt whose password was not checked because too many waited is not a wrong guess", async () => {
  await using world = await startSignInWorld({ hasOperator: false });
  const { store, clock } = world;
  const verify = () => Promise.reject(resourceExhausted("too many wait", 1));
  const guesses = createGuessLimit(clock, () => false, ONE_GUESS);
  const parts = { store, clock, guesses, passwords: { verify } } as unknown as LocalAccountParts;
  const attempt = { email: "ada@example.test", password: PASSWORD, code: "000000", remoteAddress: "192.0.2.1" };
  const account = { identity_uid: "ada", password_hash: "hash", totp_secret: null } as LocalAccountTable;
  for (let count = 0; count < 3; count++) {
    await assert.rejects(checkPassword(attempt, parts), /too many wait/);
    await assert.rejects(checkOwner(account, attempt, parts), /too many wait/);
  }
});

test("a recovery code of an account that has a password is not a wrong guess, however often it is entered", async () => {
  await using world = await startSignInWorld({ hasOperator: false });
  const { recoveryCodes } = await createHolder(world, "ada@example.test");
  const visitor = world.visitor();
  const page = await visitor.visit(`${world.baseUrl}/oauth/account/recover`);
  const enter = (code = "") => submitTo(visitor, page, "/oauth/account/recovery-code", { recovery_code: code });
  for (let count = 0; count < 12; count++) assert.match(alertOf(await enter(recoveryCodes[0])), /Your account has a password/);
  for (let count = 0; count < 10; count++) assert.equal((await enter("wrong")).status, 400);
  assert.equal((await enter("wrong")).status, 429);
});
