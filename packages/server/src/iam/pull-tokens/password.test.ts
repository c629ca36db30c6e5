import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { generatePassword, isWellFormed, looksLikePassword } from "./password.ts";

test("a password has the documented form, and no two are equal", () => {
  const passwords = new Set(Array.from({ length: 1000 }, generatePassword));
  assert.equal(passwords.size, 1000);
  for (const password of passwords) {
    assert.match(password, /^holt_pt_[0-9A-Za-z]{49}$/);
    assert.ok(isWellFormed(password) && looksLikePassword(password));
  }
});

test("the checksum is the CRC-32 of the characters before it, in base 62", () => {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const password = generatePassword();
  const value = [...password.slice(-6)].reduce((sum, digit) => sum * 62 + alphabet.indexOf(digit), 0);
  assert.equal(value, crc32(password.slice(0, -6)));
});

test("a password with a changed, missing or additional character is not well-formed", () => {
  const password = generatePassword();
  for (let at = 8; at < password.length; at++) {
    const changed = password[at] === "a" ? "b" : "a";
    assert.equal(isWellFormed(password.slice(0, at) + changed + password.slice(at + 1)), false, `position ${at}`);
    assert.equal(isWellFormed(password.slice(0, at) + password.slice(at + 1)), false, `position ${at}`);
  }
  for (const text of ["", "holt_pt_", `${password}a`, `${password}\n`, password.toLowerCase()]) assert.equal(isWellFormed(text), false);
});
