/** Parsers of settings that are addresses: URLs, hosts, networks, mail addresses. Each parser throws an Error whose message continues "must be …". */
import { isIP } from "node:net";
import { splitPostgresUrl } from "../db/postgres-url.ts";
import { isIssuerUrl } from "../iam/tokens/issuer-url.ts";
import { normalizeIssuer } from "../iam/tokens/jwt.ts";
import { isMailAddress } from "../lib/mail-address.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw new Error("host:port, such as 127.0.0.1:8080 or [::1]:8080");
  return { host: match[1] ?? match[2] ?? "", port };
}

const UNESCAPED_PASSWORD =
  "a valid URL: postgres://user:password@host:5432/database. Escape special characters of user and password, " +
  "such as / as %2F, # as %23, ? as %3F, @ as %40 and % as %25";

function isEscaped(text: string): boolean {
  return !/%(?![0-9A-Fa-f]{2})/.test(text);
}

export function parseDatabaseUrl(text: string): string {
  if (text === "") return text;
  const { hosts, problem } = splitPostgresUrl(text);
  for (const host of hosts) assertDatabaseUrl(host);
  if (problem !== undefined) throw new Error(`a URL whose ${problem}`);
  return text;
}

function assertDatabaseUrl(text: string): void {
  const url = URL.parse(text);
  // A special character ends the password early: the rest of it would become a part of the host, the path or the query.
  const isCut = url === null || /@/.test(url.pathname + url.hash) || (url.pathname.length < 2 && url.search.includes("@"));
  if (/^postgres(?:ql)?:\/\//.test(text) && (isCut || !isEscaped(`${url.username}${url.password}`))) throw new Error(UNESCAPED_PASSWORD);
  if (url === null || !["postgres:", "postgresql:"].includes(url.protocol))
    throw new Error("a URL that starts with postgres:// or postgresql://");
  if (url.pathname.length < 2) throw new Error("empty, or a URL with the name of a database: postgres://user:password@host:5432/database");
}

/** The message repeats nothing of the text, which has a password. */
export function parseSmtpUrl(text: string): string {
  if (text === "") return text;
  const url = URL.parse(text);
  const isSmtp = url !== null && ["smtp:", "smtps:"].includes(url.protocol) && url.hostname !== "";
  const isBare = isSmtp && ["", "/"].includes(url.pathname) && url.search === "" && url.hash === "";
  // Without a user, the password would not be used.
  if (!isBare || (url.username === "" && url.password !== "") || !isEscaped(`${url.username}${url.password}`))
    throw new Error(
      "empty, or a URL such as smtp://user:password@mail.example.com:587 or smtps://mail.example.com. Escape special " +
        "characters of user and password, such as / as %2F, # as %23, ? as %3F, @ as %40 and % as %25",
    );
  return text;
}

/** An address, or a name and an address in angle brackets. */
export function parseSmtpFrom(text: string): string {
  const address = /^[^<>]*<([^<>]+)>$/.exec(text)?.[1] ?? text;
  if (text !== "" && (!isMailAddress(address) || /\p{Cc}/u.test(text)))
    throw new Error("an address such as holt@example.com, or Holt <holt@example.com>");
  return text;
}

export function parseBaseUrl(text: string): string {
  return text === "" ? text : parseOrigin(text);
}

/** Other parts would be dropped without a word. */
export function parseOrigin(text: string): string {
  const url = parseUrl(text, ["https:", "http:"]);
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    throw new Error("a URL with scheme, host and port only, such as https://holt.example.com");
  return url.origin;
}

export function parseUrl(text: string, protocols: readonly string[]): URL {
  const url = URL.parse(text);
  if (url === null || !protocols.includes(url.protocol))
    throw new Error(`a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`);
  return url;
}

export function parseIssuer(text: string): string {
  const issuer = issuerFrom(text);
  if (issuer === undefined) throw new Error("URLs that start with https:// or http://, without user, query and fragment");
  return issuer;
}

/**
 * Returns the text unchanged, as issuers are compared byte by byte. Google's has two names, and becomes the URL.
 * @returns undefined unless the text is an issuer
 */
export function issuerFrom(text: string): string | undefined {
  const issuer = normalizeIssuer(text);
  return isIssuerUrl(issuer) ? issuer : undefined;
}

export function parseCidr(text: string): string {
  if (!isCidr(text)) throw new Error("a comma-separated list of CIDRs, such as 10.0.0.0/8");
  return text;
}

function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  const family = isIP(address);
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** An address or a CIDR, as a CIDR. */
export function parseNetwork(text: string): string {
  const family = isIP(text);
  const cidr = family === 0 ? text : `${text}/${family === 4 ? 32 : 128}`;
  if (!isCidr(cidr)) throw new Error("a comma-separated list of addresses and CIDRs, such as 127.0.0.1,10.0.0.0/8");
  return cidr;
}
