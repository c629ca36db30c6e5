/** Signature keys as a resource, and the keys that count in a repo. */
import { createPublicKey, type KeyObject } from "node:crypto";
import { type SignatureKey, SignatureKeySchema } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import type { ReadDb } from "../../db/store.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { ancestry, parentOf } from "../../lib/uid.ts";

/** Characters. An RSA key of 8,192 bits has 1,500. */
const MAX_PEM = 4096;
const RSA_BITS = { min: 2048, max: 8192 } as const;
const CURVES: readonly (string | undefined)[] = ["prime256v1", "secp384r1", "secp521r1"];
const MAX_KEYS_OF_REPO = 100;

export const signatureKeys = defineResource(SignatureKeySchema, {
  table: "signature_key",
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
  check({ name, description, publicKey }) {
    assertName(name);
    assertNone([...descriptionViolations(description), ...keyViolations(publicKey)]);
  },
});

function keyViolations(pem: string): readonly FieldViolation[] {
  if (isSupported(parsePublicKey(pem))) return [];
  const kinds = "ECDSA on P-256, P-384 or P-521, Ed25519, or RSA of 2048 to 8192 bits";
  return [{ field: "signature_key.public_key", description: `public_key must be a public key in PEM form: ${kinds}` }];
}

/** Node would also accept a private key or a certificate and derive a public key from it. */
function parsePublicKey(pem: string): KeyObject | undefined {
  // Node would read the key before a NUL, and no text of the database contains one.
  if (pem.length > MAX_PEM || pem.includes("\0") || !/^\s*-----BEGIN PUBLIC KEY-----/.test(pem)) return undefined;
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

function isSupported(key: KeyObject | undefined): boolean {
  const { namedCurve, modulusLength = 0 } = key?.asymmetricKeyDetails ?? {};
  switch (key?.asymmetricKeyType) {
    case "ed25519":
      return true;
    case "ec":
      return CURVES.includes(namedCurve);
    case "rsa":
      return modulusLength >= RSA_BITS.min && modulusLength <= RSA_BITS.max;
    default:
      return false;
  }
}

/** The keys of the repo's group and of all groups above, those of the nearest groups first. */
export async function findKeysOfRepo(db: ReadDb, repoUid: string): Promise<readonly SignatureKey[]> {
  const groups = ancestry(parentOf(repoUid));
  const rows = await db
    .selectFrom("signature_key")
    .select("body")
    .where("parent", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(groups).as("v")).select("v.value"))
    .orderBy("parent", "desc")
    .orderBy("uid")
    .limit(MAX_KEYS_OF_REPO)
    .execute();
  return rows.map(({ body }) => messageFromJson(SignatureKeySchema, body));
}
