/**
 * Starts another issuer for tests: a real HTTP server on loopback with discovery, keys and tokens. It signs whatever it
 * is told to, even invalid tokens.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from "jose";

export interface SignOptions {
  /** Defaults to the issuer's. The issuer creates one key for each algorithm. */
  readonly algorithm?: string;
  /** Added to the header `{alg, kid, typ: "JWT"}`; undefined removes a member. */
  readonly header?: Readonly<Record<string, unknown>>;
}

export interface TestIssuer extends AsyncDisposable {
  readonly issuer: string;
  /** Number of requests so far. */
  readonly requests: number;
  /**
   * Signs a token. Its claims `iss`, `iat` (now) and `exp` (in an hour) can be overridden; undefined removes a claim.
   * @param claims an object, or the exact payload to sign
   */
  sign(claims: Readonly<Record<string, unknown>> | string, options?: SignOptions): Promise<string>;
  /** The published public keys. */
  jwks(): Promise<{ keys: JWK[] }>;
  /** Replaces all keys. */
  rotate(): void;
  /** While down, every request gets status 503. */
  setDown(isDown: boolean): void;
  /** Overrides members of the discovery document. */
  setDiscovery(members: Readonly<Record<string, unknown>>): void;
}

interface IssuerKey {
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export interface IssuerOptions {
  readonly now?: () => Date;
  /** Algorithm of its first key. */
  readonly algorithm?: string;
}

export async function startIssuer({ now = () => new Date(), algorithm: ownAlgorithm = "RS256" }: IssuerOptions = {}): Promise<TestIssuer> {
  let keys = new Map<string, Promise<IssuerKey>>();
  let requests = 0;
  let isDown = false;
  let lie: Readonly<Record<string, unknown>> = {};
  let made = 0;

  const keyFor = (algorithm: string): Promise<IssuerKey> => {
    const key = keys.get(algorithm) ?? generateKey(algorithm, `key-${++made}`);
    keys.set(algorithm, key);
    return key;
  };
  const jwks = async (): Promise<{ keys: JWK[] }> => ({ keys: (await Promise.all(keys.values())).map((key) => key.publicJwk) });

  const server = createServer(async (request, response) => {
    requests++;
    if (isDown) return void response.writeHead(503).end();
    response.setHeader("content-type", "application/json");
    if (request.url === "/.well-known/openid-configuration") response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys`, ...lie }));
    else if (request.url === "/keys") response.end(JSON.stringify(await jwks()));
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await keyFor(ownAlgorithm);

  return {
    issuer,
    get requests() {
      return requests;
    },
    async sign(claims, { algorithm = ownAlgorithm, header = {} } = {}) {
      const seconds = Math.floor(now().getTime() / 1000);
      const payload = typeof claims === "string" ? claims : JSON.stringify({ iss: issuer, iat: seconds, exp: seconds + 3600, ...claims });
      const { privateKey, publicJwk } = await keyFor(algorithm);
      return new CompactSign(Buffer.from(payload))
        .setProtectedHeader({ alg: algorithm, kid: publicJwk.kid, typ: "JWT", ...header } as never)
        .sign(privateKey, { crit: { exp: true } });
    },
    jwks,
    rotate() {
      const algorithms = [...keys.keys()];
      keys = new Map();
      for (const algorithm of algorithms) void keyFor(algorithm);
    },
    setDown(value) {
      isDown = value;
    },
    setDiscovery(members) {
      lie = members;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function generateKey(algorithm: string, kid: string): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  return { privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: "sig" } };
}
