// Creates an identity for a CI job. An administrator runs it once and hands the credentials file to the job.
//
// The key pair is made here. The server stores only the public half, so nobody can take the private key from the server.
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";

const { API, TOKEN, GROUP, ROLE = "viewer", CREDENTIALS = "ci-credentials.json" } = process.env;
if (!API || !TOKEN || !GROUP) throw new Error("set API (URL of the server), TOKEN (access token) and GROUP (uid of a group)");

async function call(method, path, body) {
  const response = await fetch(API + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.message}`);
  return answer;
}

// The issuer and the subject are names of your choice: the job's proof has to carry the same ones.
const issuer = "https://ci.example.com";
const subject = "build";
const keyId = "build-1";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const publicJwk = { ...publicKey.export({ format: "jwk" }), kid: keyId, alg: "ES256", use: "sig" };

const { uid } = await call("POST", `/iam/v2/identities/${GROUP}`, {
  name: "ci-build",
  staticKeys: { issuer, subject, issuerKeys: JSON.stringify({ keys: [publicJwk] }) },
});

// A new identity has no capabilities. A role binding gives it those of a role, in this group and below.
const { roles } = await call("GET", `/iam/v2/roles?name=${encodeURIComponent(ROLE)}`);
if (roles.length === 0) throw new Error(`there is no role called ${ROLE}`);
await call("POST", `/iam/v2/roleBindings/${GROUP}`, { identityUid: uid, roleUid: roles[0].uid });

const credentials = { identity: uid, issuer, subject, keyId, privateKey: privateKey.export({ format: "jwk" }) };
writeFileSync(CREDENTIALS, JSON.stringify(credentials, undefined, 2), { mode: 0o600 });
console.log(`created identity ${uid} with role ${ROLE}`);
console.log(`wrote ${CREDENTIALS}: keep it secret`);
