import assert from "node:assert/strict";
import { test } from "node:test";
import { passwordFault } from "./password-rules.ts";

const context = { email: "Margaret@mail.example.com", name: "Grace Hopper", organizations: ["acme.test"] };

test("unrelated words, signs of any script and long passwords may be chosen", async () => {
  for (const password of [
    "correct horse battery staple",
    "vier Wörter über Züge",
    "パスワードではない十二文字以上",
    `${"x7#".repeat(20)}unrelated`,
  ])
    assert.equal(await passwordFault(password, context), undefined, password);
});

test("a password is refused if it is short, common, or contains what others know", async () => {
  const refused = {
    "eleven char": /at least 12/,
    ["x".repeat(257)]: /at most 256/,
    passwordpassword: /attackers/,
    "123456789012": /attackers/,
    "!!2024Password2024!!": /attackers/,
    aaaaaaaaaaaaaaaa: /attackers/,
    abcabcabcabcabc: /attackers/,
    "about margaret and more": /margaret/,
    "the example.com password": /example/,
    "GRACEful swimming": /grace/,
    "working at acme.test": /acme/,
  };
  for (const [password, reason] of Object.entries(refused)) assert.match((await passwordFault(password, context)) ?? "", reason, password);
});
