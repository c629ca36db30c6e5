/**
 * Generates the passwords of pull tokens and recognizes them. A password is a prefix that secret scanners find, 43 random
 * characters, and a checksum of six characters. With the checksum, scanners and this server tell a password from a similar
 * text. Pure.
 */
import { randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

const PASSWORD_PREFIX = "holt_pt_";
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 256 bits: 62 to the power of 43 is above 2 to the power of 256. */
const RANDOM_CHARACTERS = 43;
/** 32 bits: 62 to the power of 6 is above 2 to the power of 32. */
const CHECKSUM_CHARACTERS = 6;
const FORMAT = new RegExp(`^${PASSWORD_PREFIX}[0-9A-Za-z]{${RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}$`);

export function generatePassword(): string {
  let text = PASSWORD_PREFIX;
  for (let count = 0; count < RANDOM_CHARACTERS; count++) text += ALPHABET[randomInt(ALPHABET.length)];
  return text + checksumOf(text);
}

/** Whether a client sent the text as the password of a pull token, right or wrong. */
export function looksLikePassword(text: string): boolean {
  return text.startsWith(PASSWORD_PREFIX);
}

/** Whether the text has the form of a password and the right checksum. */
export function isWellFormed(text: string): boolean {
  return FORMAT.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_CHARACTERS)));
}

/** The CRC-32 of the text in base 62. */
function checksumOf(text: string): string {
  let checksum = "";
  for (let rest = crc32(text); checksum.length < CHECKSUM_CHARACTERS; rest = Math.floor(rest / ALPHABET.length))
    checksum = ALPHABET[rest % ALPHABET.length] + checksum;
  return checksum;
}
