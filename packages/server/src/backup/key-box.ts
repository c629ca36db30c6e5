/** Seals the secrets key with a passphrase, so that a backup can hold it. */
import { randomBytes, scryptSync } from "node:crypto";
import { openBox, sealBox } from "../lib/sealed-box.ts";

const CONTEXT = Buffer.from("holt backup of the secrets key");
/** 128 MiB and about half a second for each guess. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
const PREFIX = "scrypt-aes-256-gcm";

export function sealKey(key: Uint8Array, passphrase: string): string {
  const salt = randomBytes(16);
  const box = sealBox(derive(passphrase, salt), Buffer.from(key).toString("base64"), CONTEXT);
  return [PREFIX, salt.toString("base64url"), box.toString("base64url")].join(".");
}

/** @throws Error for the operator if the passphrase is wrong or the box was changed */
export function openKey(sealed: string, passphrase: string): Uint8Array {
  const [prefix, salt = "", box = ""] = sealed.trim().split(".");
  if (prefix !== PREFIX) throw new Error("the sealed secrets key has an unknown form");
  try {
    return Buffer.from(openBox(derive(passphrase, Buffer.from(salt, "base64url")), Buffer.from(box, "base64url"), CONTEXT), "base64");
  } catch (error) {
    throw new Error("the passphrase does not open the sealed secrets key", { cause: error });
  }
}

function derive(passphrase: string, salt: Buffer): Buffer {
  return scryptSync(passphrase.normalize("NFC"), salt, 32, COST);
}
