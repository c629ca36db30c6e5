/** Time-based one-time codes of authenticator apps (RFC 6238, with SHA-1, six digits and 30 seconds, which all apps know). Pure. */
import { createHmac, randomBytes } from "node:crypto";

const STEP_MS = 30_000;
const DIGITS = 6;
const SECRET_BYTES = 20;
/** A code may be one step old, or come from a clock that is one step ahead. */
const STEPS_AROUND = [0, -1, 1];
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Base32, as apps take it. */
export function newTotpSecret(): string {
  let bits = "";
  for (const byte of randomBytes(SECRET_BYTES)) bits += byte.toString(2).padStart(8, "0");
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join("");
}

/** The code of a time. */
export function totpCode(secret: string, time: Date): string {
  return codeOfStep(secret, stepOf(time));
}

/** @returns the time step of the code; undefined if it is not a code of this time */
export function findTotpStep(secret: string, code: string, time: Date): number | undefined {
  const digits = code.replace(/\s/g, "");
  const now = stepOf(time);
  return STEPS_AROUND.map((distance) => now + distance).find((step) => codeOfStep(secret, step) === digits);
}

/** Content of the QR code. */
export function totpUri(secret: string, account: string, issuer: string): string {
  const label = [issuer, account].map(encodeURIComponent).join(":");
  return `otpauth://totp/${label}?${new URLSearchParams({ secret, issuer, algorithm: "SHA1", digits: String(DIGITS), period: "30" })}`;
}

function stepOf(time: Date): number {
  return Math.floor(time.getTime() / STEP_MS);
}

/** RFC 4226 §5.3. */
function codeOfStep(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac("sha1", decodeBase32(secret)).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0x0f;
  const number = digest.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

function decodeBase32(text: string): Buffer {
  let bits = "";
  for (const letter of text) bits += BASE32.indexOf(letter).toString(2).padStart(5, "0");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
