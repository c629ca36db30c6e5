import assert from "node:assert/strict";
import { test } from "node:test";
import { resourceExhausted } from "../../lib/errors.ts";
import type { AccountParts } from "./account-parts.ts";
import type { SetUpTarget } from "./account-step.ts";
import { readChoice } from "./choose-credential.ts";

const FIELDS = { name: "Ada", email: "ada@example.test", password: "correct horse battery staple", code: "", credential: "" };

test("the page on which a person chooses a password stays open while too many passwords wait", async () => {
  const hash = () => Promise.reject(resourceExhausted("too many wait", 1));
  const parts = { localAccounts: { passwords: { hash } } } as unknown as AccountParts;
  const target = { kind: "new", draft: { email: "" }, groupName: "acme" } as SetUpTarget;
  const choice = await readChoice({ target, challenge: "" }, FIELDS, undefined, parts);
  assert.ok(choice.kind === "problem");
  assert.match(choice.problem, /send the form again/);
});
