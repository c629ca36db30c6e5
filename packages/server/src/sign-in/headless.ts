/** Sign-ins for a program on another machine: what it gets is encrypted for the key that its code is, and waits to be fetched once. */
import { createPublicKey, diffieHellman, generateKeyPairSync } from "node:crypto";
import type { WriteDb } from "../db/store.ts";
import { sealBox } from "../lib/sealed-box.ts";
import { SignInRefusal } from "./refusal.ts";

export interface HeadlessSession {
  /** The base64url text of the server's X25519 public key. */
  readonly ecdhPublicKey: string;
  /** Nonce, ciphertext and tag, one after the other. */
  readonly encryptedIdToken: Uint8Array;
}

const SESSION_MS = 5 * 60_000;

/** AES-256-GCM with the secret that X25519 gives as its key, which is used for this one message. */
export function encryptFor(code: string, token: string): HeadlessSession {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  return {
    ecdhPublicKey: publicKey.export({ format: "jwk" }).x ?? "",
    encryptedIdToken: sealBox(secretOf(code, privateKey), token),
  };
}

function secretOf(code: string, privateKey: ReturnType<typeof generateKeyPairSync>["privateKey"]): Buffer {
  try {
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "X25519", x: code }, format: "jwk" });
    return diffieHellman({ privateKey, publicKey });
  } catch {
    // RFC 7748 §6.1: with some points the secret would be one that everybody knows.
    throw new SignInRefusal(
      400,
      "The code of the program on the other machine is not one that can be used. Start the sign-in there again.",
    );
  }
}

/** Another one for the same code takes its place. Clears away what has expired, too. */
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

/** The session, which is gone then; undefined while nobody has signed in. */
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
