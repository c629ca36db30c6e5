import assert from "node:assert/strict";
import { test } from "node:test";
import { findTotpStep, newTotpSecret, totpCode, totpUri } from "./totp.ts";

/** The secret of RFC 6238, appendix B, in base 32. */
const SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

test("codes are those of RFC 6238, appendix B, shortened to six digits", () => {
  const vectors = {
    59: "287082",
    1111111109: "081804",
    1111111111: "050471",
    1234567890: "005924",
    2000000000: "279037",
    20000000000: "353130",
  };
  for (const [seconds, code] of Object.entries(vectors)) assert.equal(totpCode(SECRET, new Date(Number(seconds) * 1000)), code);
});

test("a code is good one step before and after its own, and has the same step each time", () => {
  const secret = newTotpSecret();
  const time = new Date("2030-01-01T00:00:15Z");
  const code = totpCode(secret, time);
  const at = (seconds: number) => findTotpStep(secret, code, new Date(time.getTime() + seconds * 1000));
  const step = Math.floor(time.getTime() / 30_000);
  assert.deepEqual([at(-30), at(0), at(30), at(-61), at(61)], [step, step, step, undefined, undefined]);
  assert.equal(findTotpStep(secret, `${code.slice(0, 3)} ${code.slice(3)}`, time), step);
});

test("secrets have 160 bits and differ", () => {
  const secrets = new Set(Array.from({ length: 50 }, newTotpSecret));
  assert.equal(secrets.size, 50);
  for (const secret of secrets) assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.match(totpUri(SECRET, "a b@example.test", "holt.test"), /^otpauth:\/\/totp\/holt\.test:a%20b%40example\.test\?secret=/);
});
