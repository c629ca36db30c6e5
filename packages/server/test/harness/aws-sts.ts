/**
 * Simulates AWS's caller-identity service and builds proofs as clients do. The service checks no signature: it answers
 * what a test tells it to.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface TestSts extends AsyncDisposable {
  readonly url: string;
  /** The most recent request. */
  readonly last: { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders } | undefined;
  readonly requests: number;
  answer(status: number, body: unknown): void;
}

export const CALLER = { Account: "123456789012", Arn: "arn:aws:sts::123456789012:assumed-role/ci/i-1", UserId: "AROA:i-1" };

export async function startSts(): Promise<TestSts> {
  let last: TestSts["last"];
  let requests = 0;
  let status = 200;
  let body: unknown = { GetCallerIdentityResponse: { GetCallerIdentityResult: CALLER, ResponseMetadata: {} } };
  const server = createServer((request, response) => {
    requests++;
    last = { method: request.method ?? "", url: request.url ?? "", headers: request.headers };
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get last() {
      return last;
    },
    get requests() {
      return requests;
    },
    answer(newStatus, newBody) {
      status = newStatus;
      body = newBody;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export interface ProofOptions {
  readonly audience: string;
  readonly identity: string;
  readonly date: Date;
  readonly requestLine?: string;
  readonly host?: string;
  readonly signedHeaders?: readonly string[];
  /** Complete header lines, appended after the others. */
  readonly extraLines?: readonly string[];
  readonly body?: string;
}

const SIGNED = ["accept", "holt-audience", "holt-identity", "host", "x-amz-date"];

/** The request; a proof is its base64. */
export function proofRequest({
  audience,
  identity,
  date,
  requestLine,
  host,
  signedHeaders = SIGNED,
  extraLines = [],
  body = "",
}: ProofOptions): string {
  const stamp = date.toISOString().replace(/[-:]|\.\d+/g, "");
  return [
    requestLine ?? "POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1",
    `Host: ${host ?? "sts.amazonaws.com"}`,
    "Accept: application/json",
    `Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${stamp.slice(0, 8)}/us-east-1/sts/aws4_request, SignedHeaders=${signedHeaders.join(";")}, Signature=${"0".repeat(64)}`,
    `Holt-Audience: ${audience}`,
    `Holt-Identity: ${identity}`,
    `X-Amz-Date: ${stamp}`,
    ...extraLines,
    "",
    body,
  ].join("\r\n");
}

export function proofOf(options: ProofOptions): string {
  return Buffer.from(proofRequest(options)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}
