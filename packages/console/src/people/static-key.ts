/** Makes a key for a machine in this browser. The private key leaves the page only if the person copies it. */

export interface StaticKey {
  /** PEM of PKCS #8. */
  readonly privateKey: string;
  /** Id of the key in the header of proofs. */
  readonly kid: string;
  /** The public half as a JWK set. */
  readonly publicKeys: string;
}

export async function createStaticKey(): Promise<StaticKey> {
  const { publicKey, privateKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
  const kid = crypto.randomUUID();
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  return {
    privateKey: pemFrom(pkcs8),
    kid,
    publicKeys: JSON.stringify({ keys: [{ kty, crv, x, y, kid, alg: "ES256", use: "sig" }] }),
  };
}

function pemFrom(bytes: Uint8Array): string {
  const lines = btoa(String.fromCharCode(...bytes)).match(/.{1,64}/g) ?? [];
  return ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n");
}

export interface ProofCommandOptions {
  readonly kid: string;
  readonly issuer: string;
  readonly subject: string;
  /** URL of this server. */
  readonly audience: string;
}

/** A command that signs a proof with the key in `key.pem`, for ten minutes. Needs Node. */
export function proofCommand({ kid, issuer, subject, audience }: ProofCommandOptions): string {
  const claims = `{ ...${literal({ iss: issuer, sub: subject, aud: audience })}, iat: now, exp: now + 600 }`;
  return [
    "node -e '",
    'const { createPrivateKey, sign } = require("node:crypto");',
    'const key = createPrivateKey(require("node:fs").readFileSync("key.pem"));',
    "const now = Math.floor(Date.now() / 1000);",
    'const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");',
    `const text = part(${literal({ alg: "ES256", kid })}) + "." + part(${claims});`,
    'console.log(text + "." + sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url"));',
    "'",
  ].join("\n");
}

/** JSON without the characters that end a quoted text of a shell. */
function literal(value: object): string {
  return JSON.stringify(value).replaceAll("'", "\\u0027");
}
