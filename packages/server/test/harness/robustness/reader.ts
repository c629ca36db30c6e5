/** Creates an identity that may read one group, for tests that take the right away from it. */
import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

export interface ReaderParts {
  /** Address of the server, and the audience of its tokens. */
  readonly url: string;
  /** A POST with a JSON body as the owner. */
  post(path: string, body: object): Promise<{ readonly uid: string }>;
}

/** A robot that may read the group. @returns its token and the binding that allows it */
export async function createReader({ url, post }: ReaderParts, group: string): Promise<{ token: string; binding: string }> {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const issuerKeys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] });
  const staticKeys = { issuer: "https://robots.test", subject: "robot", issuerKeys };
  const { uid } = await post(`/iam/v2/identities/${group}`, { name: "robot", staticKeys });
  const role = await post(`/iam/v2/roles/${group}`, { name: "reader", capabilities: ["groups.list"] });
  const binding = await post(`/iam/v2/roleBindings/${group}`, { identityUid: uid, roleUid: role.uid });
  const proof = await new SignJWT({ iss: "https://robots.test", sub: "robot", aud: url })
    .setProtectedHeader({ alg: "ES256" })
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(privateKey);
  const answer = await fetch(`${url}/sts/exchange?identity=${encodeURIComponent(uid)}`, {
    method: "POST",
    headers: { authorization: `Bearer ${proof}` },
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return { token: (JSON.parse(text) as { token: string }).token, binding: binding.uid };
}
