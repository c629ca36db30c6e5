// Receives event deliveries of a subscription, verifies that the server sent them, and prints each event once.
import { createHash, createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";

const { API, ORG, PORT = "9000" } = process.env;
if (!API || !ORG) throw new Error("set API (URL of the server) and ORG (uid of the group that has the subscription)");

// Ids of the events that were handled. A real receiver keeps them in a database, so that it still knows them after a restart.
const seen = new Set();

// The public keys of the server, read again when a token names an unknown key: the server changes its keys now and then.
let keys = [];
async function findKey(kid) {
  if (!keys.some((key) => key.kid === kid)) {
    const { jwks_uri } = await (await fetch(`${API}/.well-known/openid-configuration`)).json();
    ({ keys } = await (await fetch(jwks_uri)).json());
  }
  return createPublicKey({ key: keys.find((key) => key.kid === kid), format: "jwk" });
}

async function isGenuine(authorization, body) {
  const [header, payload, signature] = authorization.replace(/^Bearer /, "").split(".");
  const parse = (part) => JSON.parse(Buffer.from(part, "base64url").toString());

  // The algorithm is checked before the key is used: a token must not choose how it is verified.
  const { alg, kid } = parse(header);
  const signed = Buffer.from(`${header}.${payload}`);
  if (alg !== "RS256" || !verify("sha256", signed, await findKey(kid), Buffer.from(signature, "base64url"))) return false;

  // The token must be for a subscription of our group and for exactly this body.
  const { iss, aud, sub, exp, webhook } = parse(payload);
  const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
  const isForUs = iss === API && [aud].flat().includes("customer") && sub === `webhook:${ORG}`;
  return isForUs && exp > Date.now() / 1000 && webhook.digest === digest;
}

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const { authorization = "", "ce-id": id, "ce-type": type, "ce-subject": subject } = request.headers;
  // A token that cannot be parsed is as bad as one that is forged.
  if (!(await isGenuine(authorization, body).catch(() => false))) return response.writeHead(403).end();

  // Deliveries are at least once: the same event may arrive again, with the same id.
  if (!seen.has(id)) console.log(type, subject, JSON.parse(body).body);
  seen.add(id);
  // Answer as soon as the event is stored, and work on it afterwards: the server repeats a delivery that is not answered in time.
  response.writeHead(204).end();
});
server.listen(Number(PORT), () => console.log(`listening on ${PORT}`));
