/**
 * Hands logins to programs on another machine. The login is encrypted for the program's key, which is also its code,
 * and can be fetched once.
 */
import { createPublicKey, diffieHellman, generateKeyPairSync } from "node:crypto";
import type { WriteDb } from "../db/store.ts";
import { sealBox } from "../lib/sealed-box.ts";
import { SignInRefusal } from "./refusal.ts";

export interface HeadlessSession {
  /** The server's X25519 public key, base64url. */
  readonly ecdhPublicKey: string;
  /** Nonce, ciphertext and tag, concatenated. */
  readonly encryptedIdToken: Uint8Array;
}

const SESSION_MS = 5 * 60_000;

/** AES-256-GCM. The key is an X25519 shared secret that is used for this one message. */
export function encryptForProgram(code: string, token: string): HeadlessSession {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  return {
    ecdhPublicKey: publicKey.export({ format: "jwk" }).x ?? "",
    encryptedIdToken: sealBox(deriveKey(code, privateKey), token),
  };
}

function deriveKey(code: string, privateKey: ReturnType<typeof generateKeyPairSync>["privateKey"]): Buffer {
  try {
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "X25519", x: code }, format: "jwk" });
    return diffieHellman({ privateKey, publicKey });
  } catch {
    // RFC 7748 §6.1: some public keys would give a secret that everyone knows.
    throw new SignInRefusal(400, "The code of the program on the other machine is invalid. Start the sign-in there again.");
  }
}

/** Replaces a session with the same code. Also deletes expired sessions. */
export async function insertHeadlessSession(db: WriteDb, code: string, session: HeadlessSession, now: Date): Promise<void> {
  await db.deleteFrom("headless_session").where("expire_time", "<=", now.toISOString()).execute();
  const content = {
    ecdh_public_key: session.ecdhPublicKey,
    encrypted_idtoken: Buffer.from(session.encryptedIdToken).toString("base64"),
    expire_time: new Date(now.getTime() + SESSION_MS).toISOString(),
  };
  await db
    .insertInto("headless_session")
    .values({ code, ...content })
    .onConflict((conflict) => conflict.column("code").doUpdateSet(content))
    .execute();
}

/**
 * Returns and deletes the session.
 * @returns undefined while nobody has signed in
 */
export async function takeHeadlessSession(db: WriteDb, code: string, now: Date): Promise<HeadlessSession | undefined> {
  if (code.includes("\0")) return undefined;
  const taken = await db
    .deleteFrom("headless_session")
    .where("code", "=", code)
    .where("expire_time", ">", now.toISOString())
    .returning(["ecdh_public_key", "encrypted_idtoken"])
    .executeTakeFirst();
  return taken && { ecdhPublicKey: taken.ecdh_public_key, encryptedIdToken: Buffer.from(taken.encrypted_idtoken, "base64") };
}
