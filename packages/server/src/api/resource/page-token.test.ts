import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "../../../test/harness/property.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { createPageTokens, type Position } from "./page-token.ts";

const tokens = createPageTokens(new Uint8Array(32).fill(7));
const NOW = new Date("2030-01-01T00:00:00.000Z");
/** Any code units, half surrogate pairs among them. */
const anyText = fc.array(fc.nat({ max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units));
const DAY = 86_400_000;
const position: Position = { key: "name", uid: "0".repeat(40), skipped: 3 };

function isRefused(token: string, binding = "list", now = NOW): boolean {
  try {
    tokens.open(token, binding, now);
    return false;
  } catch (error) {
    assert.ok(error instanceof HoltError);
    assert.equal(error.code, Code.INVALID_ARGUMENT);
    assert.equal(error.details.fieldViolations?.[0]?.field, "page_token");
    return true;
  }
}

describe("a page token", () => {
  test("a page token returns every position that was sealed in it", () => {
    fc.assert(
      fc.property(anyText, fc.string(), fc.nat(), fc.string(), (key, uid, skipped, binding) => {
        const token = tokens.seal({ key, uid, skipped }, binding, NOW);
        assert.match(token, /^[\w-]+$/);
        assert.deepEqual(tokens.open(token, binding, NOW), { key, uid, skipped });
      }),
    );
  });

  test("a page token is refused if any bit is changed", () => {
    const bytes = Buffer.from(tokens.seal(position, "list", NOW), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.ok(isRefused(changed.toString("base64url")), `bit ${bit}`);
    }
  });

  test("a page token is refused if it is shortened or lengthened, and in another spelling of the same bytes", () => {
    const token = tokens.seal(position, "list", NOW);
    for (let length = 0; length < token.length; length++) assert.ok(isRefused(token.slice(0, length)), `${length}`);
    for (const other of ["A", "=", " ", "\n", ".", "\0", "é"]) {
      assert.ok(isRefused(token + other));
      assert.ok(isRefused(other + token));
    }
    // The last character carries bits that decode to nothing.
    for (const last of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
      if (last !== token.at(-1)) assert.ok(isRefused(token.slice(0, -1) + last));
    if (/[-_]/.test(token)) assert.ok(isRefused(token.replaceAll("-", "+").replaceAll("_", "/")));
  });

  test("a page token is refused if it is arbitrary text", () => {
    fc.assert(fc.property(fc.oneof(fc.string(), anyText, fc.base64String()), (text) => isRefused(text)));
    for (const length of [0, 1, 12, 27, 28, 29, 100]) assert.ok(isRefused(randomBytes(length).toString("base64url")));
  });

  test("a page token is refused for another list, and on a server with another key", () => {
    const token = tokens.seal(position, "list", NOW);
    for (const binding of ["", "lis", "list ", "List"]) assert.ok(isRefused(token, binding));
    assert.throws(() => createPageTokens(new Uint8Array(32).fill(8)).open(token, "list", NOW));
  });

  test("a page token restarts the list once it is older than three days, and not before", () => {
    const token = tokens.seal(position, "list", NOW);
    assert.deepEqual(tokens.open(token, "list", new Date(NOW.getTime() + 3 * DAY)), position);
    assert.equal(tokens.open(token, "list", new Date(NOW.getTime() + 3 * DAY + 1)), undefined);
    assert.ok(isRefused(token, "other", new Date(NOW.getTime() + 4 * DAY)));
  });

  test("a page token reveals nothing of its content, not even that two tokens hold the same", () => {
    const [one, other] = [tokens.seal(position, "list", NOW), tokens.seal(position, "list", NOW)];
    assert.notEqual(one, other);
    assert.ok(!Buffer.from(one, "base64url").toString("latin1").includes("name"));
  });
});
