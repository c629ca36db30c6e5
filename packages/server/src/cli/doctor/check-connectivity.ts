/** Checks the connection from clients to the server: its base URL, and how proxies change requests. */
import { connect } from "node:http2";
import type { Config } from "../../config.ts";
import { PATH_ECHO } from "../../http/server-pages.ts";
import { checkServedCertificate } from "./check-certificate.ts";
import { MAX_CLOCK_DIFFERENCE_MS } from "./check-database.ts";
import { type Problem, problemsOf } from "./problem.ts";

const TIMEOUT_MS = 10_000;
const ESCAPED = `${PATH_ECHO}a%2Fb`;

export async function checkConnectivity({ baseUrl, tlsCert }: Config): Promise<Problem[]> {
  const discovery = await ask(`${baseUrl}/.well-known/openid-configuration`);
  if (discovery instanceof Error) return [unreachable(baseUrl, discovery)];
  const issuer = issuerIn(discovery.text);
  if (discovery.status !== 200 || issuer !== baseUrl) return [wrongIssuer(baseUrl, discovery, issuer)];
  return [
    ...checkDate(discovery),
    // The server's own files are checked without a connection.
    ...(tlsCert === "" ? await checkServedCertificate(baseUrl, TIMEOUT_MS) : []),
    ...(await checkPath(baseUrl)),
    ...(await checkAuthorization(baseUrl)),
    ...(await checkHttp2(baseUrl)),
  ];
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly date: string | null;
}

async function ask(url: string, headers: Record<string, string> = {}): Promise<Answer | Error> {
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, text: await response.text(), date: response.headers.get("date") };
  } catch (error) {
    return error as Error;
  }
}

/** Codes of certificates that this machine does not accept. */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/;

function unreachable(baseUrl: string, { message, cause }: Error): Problem {
  const { code = "", message: reason = message } = (cause ?? {}) as { code?: string; message?: string };
  const problem = `the server cannot be reached under its base URL ${baseUrl}: ${reason || code}`;
  if (UNTRUSTED.test(code)) {
    const remedy = "get a certificate for this host of an authority that clients trust; for your own authority, set NODE_EXTRA_CA_CERTS";
    return { check: "certificate", problem, remedy };
  }
  return { check: "base URL", problem, remedy: "start the server, or correct HOLT_BASE_URL, DNS, the proxy or the firewall" };
}

function issuerIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { issuer?: unknown }).issuer;
  } catch {
    return undefined;
  }
}

/** Statuses of a proxy that does not reach the server behind it. */
const GATEWAY_ERRORS: ReadonlySet<number> = new Set([502, 503, 504]);

function wrongIssuer(baseUrl: string, { status }: Answer, issuer: unknown): Problem {
  const found = typeof issuer === "string" ? `the issuer there is ${issuer}` : `it answers ${status} without an issuer`;
  const remedy = GATEWAY_ERRORS.has(status)
    ? "start the server, or correct the address at which the proxy looks for it"
    : "let the proxy pass all paths to the server, and set HOLT_BASE_URL to exactly the URL that clients use";
  return { check: "base URL", problem: `${baseUrl} does not lead to this server: ${found}`, remedy };
}

function checkDate({ date }: Answer): Problem[] {
  const differenceMs = date === null ? 0 : Math.abs(Date.now() - Date.parse(date));
  return problemsOf("clock", [
    [
      differenceMs > MAX_CLOCK_DIFFERENCE_MS,
      `the clocks of this machine and of the base URL differ by ${Math.round(differenceMs / 1000)} s`,
      "synchronize the clocks of the server and of the proxy",
    ],
  ]);
}

async function checkPath(baseUrl: string): Promise<Problem[]> {
  const answer = await ask(baseUrl + ESCAPED);
  const received = answer instanceof Error ? answer.message : answer.text.trim();
  return problemsOf("proxy", [
    [
      received !== ESCAPED,
      `the path ${ESCAPED} arrives as ${JSON.stringify(received.slice(0, 200))}`,
      "let the proxy leave paths unchanged: in nginx, proxy_pass without a path; in Apache, AllowEncodedSlashes NoDecode and nocanon",
    ],
  ]);
}

/** The messages of the server differ with and without the header. */
async function checkAuthorization(baseUrl: string): Promise<Problem[]> {
  const url = `${baseUrl}/iam/v2/groups`;
  const [without, withHeader] = await Promise.all([ask(url), ask(url, { authorization: "Bearer doctor" })]);
  const isDropped = !(without instanceof Error || withHeader instanceof Error) && without.text === withHeader.text;
  return problemsOf("proxy", [[isDropped, "the header Authorization does not arrive", "let the proxy pass it on"]]);
}

const NO_HTTP2 = "let the proxy accept HTTP/2 and use it to the server (Caddy: h2c://, nginx: grpc_pass), or gRPC clients fail";

/** A health check over gRPC needs HTTP/2, its trailers, and both all the way to the server. */
async function checkHttp2(baseUrl: string): Promise<Problem[]> {
  const status = await grpcHealth(baseUrl).catch((error: Error) => error);
  const reason = status instanceof Error ? reasonOf(status) : "";
  return problemsOf("proxy", [
    [status instanceof Error, `HTTP/2 does not reach the server: ${reason}`, NO_HTTP2],
    [status === undefined, "gRPC calls reach no gRPC server, or their trailers are lost", NO_HTTP2],
  ]);
}

/** OpenSSL's own text for a server without HTTP/2 names places in its sources. */
function reasonOf({ message }: Error): string {
  return message.includes("no application protocol") ? "it is not offered over TLS" : message;
}

/** The grpc-status of a health check; undefined if the answer is not one of gRPC. */
function grpcHealth(baseUrl: string): Promise<string | undefined> {
  const session = connect(baseUrl);
  return new Promise<string | undefined>((resolve, reject) => {
    session.setTimeout(TIMEOUT_MS, () => reject(new Error("no answer in time")));
    session.on("error", reject).on("close", () => reject(new Error("the connection was closed")));
    const headers = { ":method": "POST", ":path": "/grpc.health.v1.Health/Check", "content-type": "application/grpc", te: "trailers" };
    const stream = session.request(headers);
    let status: string | undefined;
    const look = (found: Record<string, unknown>) => {
      if (typeof found["grpc-status"] === "string") status = found["grpc-status"];
    };
    stream
      .on("response", look)
      .on("trailers", look)
      .on("error", reject)
      .on("close", () => resolve(status));
    stream.resume();
    // An empty message of gRPC: no compression, length 0.
    stream.end(Buffer.alloc(5));
  }).finally(() => session.destroy());
}
