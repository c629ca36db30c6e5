/** Checks AWS Signature Version 4 of requests to the S3 server of the tests, in headers and in presigned URLs. */
import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Clocks may differ by this much. */
const MAX_SKEW_MS = 15 * 60_000;

/** @returns the code of S3's error; undefined if the request is signed well */
export function signatureError(request: IncomingMessage, url: URL, credentials: Credentials, now: Date): string | undefined {
  const { headers } = request;
  const isPresigned = url.searchParams.has("X-Amz-Signature");
  if (isPresigned && headers.authorization !== undefined) return "InvalidArgument";
  const match = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$/.exec(headers.authorization ?? "");
  if (!isPresigned && match === null) return "AccessDenied";
  const of = (name: string) => url.searchParams.get(name) ?? "";
  const [credential = "", signed = "", signature = ""] = isPresigned
    ? [of("X-Amz-Credential"), of("X-Amz-SignedHeaders"), of("X-Amz-Signature")]
    : (match ?? []).slice(1);
  const time = isPresigned ? of("X-Amz-Date") : String(headers["x-amz-date"]);
  const [key, ...scope] = credential.split("/");
  if (key !== credentials.accessKeyId) return "InvalidAccessKeyId";
  const age = now.getTime() - dateOf(time);
  if (isPresigned && age > Number(of("X-Amz-Expires")) * 1000) return "AccessDenied";
  if (!isPresigned && Math.abs(age) > MAX_SKEW_MS) return "RequestTimeTooSkewed";
  const payload = isPresigned ? "UNSIGNED-PAYLOAD" : String(headers["x-amz-content-sha256"]);
  const canonical = [
    request.method,
    url.pathname,
    queryOf(url),
    ...signed.split(";").map((name) => `${name}:${String(headers[name] ?? "").trim()}`),
    "",
    signed,
    payload,
  ].join("\n");
  const text = ["AWS4-HMAC-SHA256", time, scope.join("/"), createHash("sha256").update(canonical).digest("hex")].join("\n");
  let secret: Buffer | string = `AWS4${credentials.secretAccessKey}`;
  for (const part of scope) secret = createHmac("sha256", secret).update(part).digest();
  return createHmac("sha256", secret).update(text).digest("hex") === signature ? undefined : "SignatureDoesNotMatch";
}

function dateOf(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

function queryOf(url: URL): string {
  const encode = (value: string) => encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const pairs = [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.sort().join("&");
}
