import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SignInRefusal } from "./refusal.ts";
import { parseReturnUrl, withError, withTokens } from "./return-url.ts";

const urlOf = (text: string): URL | undefined => {
  try {
    return new URL(parseReturnUrl(text));
  } catch (error) {
    assert.ok(error instanceof SignInRefusal && error.status === 400);
    return undefined;
  }
};

test("an accepted return URL always leads to this machine and contains no user", () => {
  const part = fc.constantFrom(
    "http:",
    "https:",
    "//",
    "/",
    "\\",
    "@",
    ":",
    "#",
    "?",
    ".",
    "127.0.0.1",
    "localhost",
    "[::1]",
    "evil.test",
    "0x7f.1",
    "%40",
    "\t",
    "1",
    "x",
  );
  const text = fc.oneof(
    fc.webUrl(),
    fc.string(),
    fc.array(part, { maxLength: 10 }).map((parts) => parts.join("")),
    fc.array(part, { maxLength: 8 }).map((parts) => `http://${parts.join("")}`),
  );
  fc.assert(
    fc.property(text, (given) => {
      const url = urlOf(given);
      if (url === undefined) return;
      assert.ok(["127.0.0.1", "[::1]", "localhost"].includes(url.hostname), url.href);
      assert.deepEqual([url.protocol, url.username, url.password, url.hash], ["http:", "", "", ""]);
    }),
    { numRuns: 5000 },
  );
});

test("the result replaces the program's own parameters and leaves the rest of the URL", () => {
  const url = parseReturnUrl("http://localhost:4242/cb?token=true&error=true&x=a%20b");
  assert.equal(withTokens(url, "t.t", undefined), "http://localhost:4242/cb?token=t.t&x=a+b");
  assert.equal(withTokens(url, "t", "r="), "http://localhost:4242/cb?token=t&x=a+b&refresh_token=r%3D");
  assert.equal(withError(url, new SignInRefusal(404, "no & never")), "http://localhost:4242/cb?error=no+%26+never&x=a+b&status_code=404");
});
