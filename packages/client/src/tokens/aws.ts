/**
 * Proofs of AWS callers: a signed GetCallerIdentity request that the server sends (docs/authentication.md). Needs the package
 * aws4fetch, which only the users of this source install.
 */
import type { TokenSource } from "./token-source.ts";

/** As AWS's own packages return them. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface AwsProofOptions {
  /** URL of the server. */
  readonly audience: string;
  /** Uid of the identity to act as: the proof is for this one alone. */
  readonly identity: string;
  /** Such as `fromNodeProviderChain()` of @aws-sdk/credential-providers. Default: the variables `AWS_ACCESS_KEY_ID`, … */
  readonly credentials?: () => Promise<AwsCredentials>;
  /** Default: that of AWS, which has no region. */
  readonly stsUrl?: string;
  /** Region of the endpoint; default us-east-1, where the default endpoint is. */
  readonly region?: string;
  readonly now?: () => Date;
}

const QUERY = "Action=GetCallerIdentity&Version=2011-06-15";
/** The server accepts a proof for fifteen minutes. */
const LIFE_MS = 15 * 60_000;

/** Signs a proof for each use. Exchange it: `exchangedToken(awsProof({ audience: url, identity }), { baseUrl: url, identity })`. */
export function awsProof(options: AwsProofOptions): TokenSource {
  const { audience, identity, credentials = credentialsOfEnvironment, region = "us-east-1", now = () => new Date() } = options;
  const endpoint = new URL(options.stsUrl ?? "https://sts.amazonaws.com");
  return async () => {
    const { AwsV4Signer } = await import("aws4fetch");
    const date = now();
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
    const signer = new AwsV4Signer({
      method: "POST",
      url: `${endpoint.origin}/?${QUERY}`,
      headers: { accept: "application/json", "holt-audience": audience, "holt-identity": identity },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: "sts",
      region,
      datetime: date.toISOString().replace(/[-:]|\.\d+/g, ""),
    });
    const { headers } = await signer.sign();
    // The Host header is signed, but a request does not show it.
    const lines = [
      `POST /?${QUERY} HTTP/1.1`,
      `Host: ${endpoint.host}`,
      ...[...headers].map(([name, value]) => `${name}: ${value}`),
      "",
      "",
    ];
    return { token: base64url(lines.join("\r\n")), expiry: new Date(date.getTime() + LIFE_MS) };
  };
}

async function credentialsOfEnvironment(): Promise<AwsCredentials> {
  const { env = {} } = (globalThis as { process?: { env?: Readonly<Record<string, string | undefined>> } }).process ?? {};
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = env;
  if (!accessKeyId || !secretAccessKey) throw new Error("the environment has no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  return { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined };
}

function base64url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}
