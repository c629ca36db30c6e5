/** Verifies one token and signs another, both on the thread pool. */
import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import type { ExchangePlan } from "./plan.ts";

const ALGORITHM = "RSA-SHA256";

export function prepareExchange({ publicKey, signed, texts }: ExchangePlan): (token: string) => Promise<string> {
  const issuerKey = createPublicKey(publicKey);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const content = Buffer.from(signed);
  return (token) =>
    new Promise((resolve, reject) => {
      const end = token.lastIndexOf(".");
      const signature = Buffer.from(token.slice(end + 1), "base64url");
      verify(ALGORITHM, Buffer.from(token.slice(0, end)), issuerKey, signature, (error, isValid) => {
        if (error !== null || !isValid) return reject(error ?? new Error("the token is not valid"));
        sign(ALGORITHM, content, privateKey, (failure, made) => {
          if (failure !== null) reject(failure);
          else resolve(texts[0] + made.toString("base64url") + texts[1]);
        });
      });
    });
}
