/** Seals the secrets of an organization for its way between two servers, which have different secrets keys. */
import { randomBytes } from "node:crypto";
import { openKey, sealKey } from "../backup/key-box.ts";
import { openBox, sealBox } from "../lib/sealed-box.ts";
import type { Cell } from "./export-format.ts";
import type { SealedColumn } from "./organization-tables.ts";

/** The secrets of a server; `iam/secrets/secrets.ts` has them. */
export interface ServerSecrets {
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
  readonly fingerprint: string;
}

const KEY_BYTES = 32;

/** A new key for the secrets of an export. */
export function createTransferKey(passphrase: string): { readonly key: Uint8Array; readonly sealed: string } {
  const key = randomBytes(KEY_BYTES);
  return { key, sealed: sealKey(key, passphrase) };
}

/** @throws Error for the operator if the passphrase is wrong */
export function openTransferKey(sealed: string, passphrase: string): Uint8Array {
  return openKey(sealed, passphrase);
}

export function sealForTransfer(key: Uint8Array, secrets: ServerSecrets, sealed: string, context: string): string {
  return sealBox(key, secrets.open(sealed, context), Buffer.from(context)).toString("base64url");
}

export function openFromTransfer(key: Uint8Array, secrets: ServerSecrets, value: string, context: string): string {
  return secrets.seal(openBox(key, Buffer.from(value, "base64url"), Buffer.from(context)), context);
}

/** Whether the value of a row is a secret, and not the value that stands for none. */
export function isSecret({ without }: SealedColumn, value: Cell | undefined): value is string {
  return typeof value === "string" && value !== (without ?? "");
}
