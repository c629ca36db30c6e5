// Does the work of a CI job: signs a proof of its identity, exchanges the proof for an access token, and calls the API with the token.
//
// The private key never leaves the job. The proof and the token are short-lived, so the job makes new ones in each run.
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";

const { API, CREDENTIALS = "ci-credentials.json" } = process.env;
if (!API) throw new Error("set API to the URL of the server");
const { identity, issuer, subject, keyId, privateKey } = JSON.parse(readFileSync(CREDENTIALS, "utf8"));

// The proof is a JWT that names the server as its audience, so that it is of no use elsewhere.
function signProof() {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: "ES256", kid: keyId };
  const claims = { iss: issuer, sub: subject, aud: API, iat: now, exp: now + 300 };
  const signed = `${encode(header)}.${encode(claims)}`;
  const key = createPrivateKey({ key: privateKey, format: "jwk" });
  // JWTs carry an ECDSA signature as r and s side by side (ieee-p1363); the default of Node is DER.
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

async function read(response) {
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${answer.message}`);
  return answer;
}

// `cap` narrows the token to what this job needs, however much its identity may do.
const exchange = await fetch(`${API}/sts/exchange`, {
  method: "POST",
  headers: { authorization: `Bearer ${signProof()}` },
  body: new URLSearchParams({ identity, cap: "groups.list" }),
});
const { token, expiry } = await read(exchange);
console.log(`access token of ${identity} until ${expiry}`);

const { groups } = await read(await fetch(`${API}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } }));
for (const { uid, name } of groups) console.log(`group ${name} ${uid}`);
