/** Parses the credentials of HTTP's Basic scheme. */
import { unauthenticated } from "../../lib/errors.ts";

/** Some clients send an empty user name and password where they have none. */
export function isEmptyLogin(scheme: string, credentials: string): boolean {
  return scheme.toLowerCase() === "basic" && Buffer.from(credentials, "base64").toString("utf8") === ":";
}

/** RFC 7617 §2: the user is everything before the first colon. */
export function parseBasicCredentials(credentials: string): [user: string, password: string] {
  const text = Buffer.from(credentials, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) throw unauthenticated("the credentials are not user:password in base64");
  return [text.slice(0, colon), text.slice(colon + 1)];
}
