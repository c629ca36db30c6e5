/** Parsers of settings. Each throws an Error whose message continues "must be …". */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { PublicOrganizations } from "./advisories/documents/publication.ts";
import type { RequiredTerms } from "./api/call/required-terms.ts";
import { parseS3Target } from "./blobs/s3/s3-location.ts";
import { splitPostgresUrl } from "./db/postgres-url.ts";
import { parseSecretsKey } from "./iam/secrets/secrets-key.ts";
import { isIssuerUrl } from "./iam/tokens/issuer-url.ts";
import { normalizeIssuer } from "./iam/tokens/jwt.ts";
import type { OidcSubject, ServicePrincipals } from "./iam/tokens/workload-login.ts";
import { isMailAddress } from "./lib/mail-address.ts";
import { isInRoot, isUid } from "./lib/uid.ts";
import { type VendorProfile, vendorProfiles } from "./lib/vendor-profile.ts";
import { PULL_RECORDINGS, type PullRecording, type PullRecordings } from "./registry/content/pull-recording.ts";

export const HOUR_MS = 3_600_000;

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
  if (!isBare || !isEscaped(`${url.username}${url.password}`))
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
  if (text === "") return text;
  const url = parseUrl(text, ["https:", "http:"]);
  if ((url.pathname !== "/" && url.pathname !== "") || url.search !== "" || url.hash !== "" || url.username !== "")
    throw new Error("a URL with scheme, host and port only, such as https://holt.example.com");
  return url.origin;
}

export function parseUrl(text: string, protocols: readonly string[]): URL {
  const url = URL.parse(text);
  if (url === null || !protocols.includes(url.protocol))
    throw new Error(`a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`);
  return url;
}

export function parseVendorProfile(text: string): VendorProfile {
  const profile = vendorProfiles.get(text);
  if (profile === undefined) throw new Error([...vendorProfiles.keys()].map((name) => name || "empty").join(" or "));
  return profile;
}

export function parseInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) throw new Error(`a whole number from ${min} to ${max}`);
    return value;
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: HOUR_MS };
const EXAMPLES = ["24h", "30m", "10s"];

/** @param min in milliseconds, like max and the result */
export function parseDuration(min: number, max: number): (text: string) => number {
  const isWithin = (value: number) => value >= min && value <= max;
  const examples = EXAMPLES.filter((example) => isWithin(millisecondsOf(example))).join(" or ");
  return (text) => {
    const value = millisecondsOf(text);
    if (!isWithin(value)) throw new Error(`a duration from ${durationText(min)} to ${durationText(max)}, such as ${examples}`);
    return value;
  };
}

/** NaN if the text is not a duration. */
function millisecondsOf(text: string): number {
  const [, count, unit = ""] = /^(\d{1,9})(ms|[smh])$/.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? Number.NaN);
}

/** In the largest unit that needs no fraction. */
function durationText(milliseconds: number): string {
  const unit = ["h", "m", "s"].find((each) => milliseconds > 0 && milliseconds % (UNITS[each] ?? 1) === 0) ?? "ms";
  return `${milliseconds / (UNITS[unit] ?? 1)}${unit}`;
}

export function orZero(parse: (text: string) => number): (text: string) => number {
  return (text) => {
    try {
      return text === "0" ? 0 : parse(text);
    } catch (error) {
      throw new Error(`0, or ${(error as Error).message}`);
    }
  };
}

/** A comma-separated list of at least one value. */
export function parseEach<T>(parse: (text: string) => T): (text: string) => T[] {
  return (text) => {
    try {
      return text.split(",").map((part) => parse(part.trim()));
    } catch (error) {
      throw new Error(`${(error as Error).message}, or several, separated by commas`);
    }
  };
}

export function parseList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** A `*` anywhere else would match nothing. */
export function parseAudiences(text: string): string[] {
  const audiences = parseList(text);
  if (!audiences.every((audience) => /^(?:\*\.[^*.][^*]*|[^*]+)$/.test(audience)))
    throw new Error("URLs, hosts or all hosts below one, such as *.example.com, separated by commas");
  return audiences;
}

/** The place of a stream of audit entries. */
export function parseAuditStream(text: string): URL {
  const url = parseUrl(text, ["file:", "syslog+tcp:", "syslog+tls:", "https:", "http:"]);
  if (url.protocol === "file:" && (url.host !== "" || url.pathname.endsWith("/")))
    throw new Error("file:// and the absolute path of a file, such as file:///var/log/holt/audit.jsonl");
  const isSyslog = url.protocol.startsWith("syslog+");
  if (isSyslog && (url.hostname === "" || !["", "/"].includes(url.pathname)))
    throw new Error("a host and a port without a path, such as syslog+tls://host:6514");
  return url;
}

/** Returns the text unchanged: issuers are compared byte by byte. */
export function parseIssuer(text: string): string {
  if (!isIssuer(text)) throw new Error("URLs that start with https:// or http://, without user, query and fragment");
  return text;
}

function isIssuer(text: string): boolean {
  return isIssuerUrl(normalizeIssuer(text));
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

export function secretsKeyFrom(text: string): Uint8Array {
  const key = parseSecretsKey(text);
  if (key === undefined) throw new Error("empty, or the base64 of 32 bytes, such as `openssl rand -base64 32` prints");
  return key;
}

export function parseServicePrincipals(text: string): ServicePrincipals {
  const known = new Map<ServicePrincipal, OidcSubject[]>();
  for (const entry of parseList(text)) {
    const match = /^([A-Z_]+)=(\S+) (\S+)$/.exec(entry);
    const principal = ServicePrincipal[(match?.[1] ?? "") as keyof typeof ServicePrincipal];
    const [, , issuer = "", subject] = match ?? [];
    if (principal === undefined || principal === ServicePrincipal.UNSPECIFIED || !isIssuer(issuer) || subject === undefined) {
      const names = Object.keys(ServicePrincipal).filter((name) => name !== "UNSPECIFIED");
      throw new Error(`entries of the form PRINCIPAL=issuer subject, separated by commas; principals are ${names.join(", ")}`);
    }
    known.set(principal, [...(known.get(principal) ?? []), { issuer, subject }]);
  }
  return known;
}

export function parseRequiredTerms(text: string): RequiredTerms {
  return parseList(text).map((entry) => {
    const [, id, url = "", label] = /^([a-z0-9._-]{1,64})(?:=(https?:\/\/\S+)(?:\s+(.+))?)?$/.exec(entry) ?? [];
    if (id === undefined) throw new Error("entries of the form id, id=URL or id=URL label, separated by commas");
    return { id, url, label: label ?? id };
  });
}

export function parsePublicOrganizations(text: string): PublicOrganizations {
  if (text === "") return "first";
  if (text === "*") return "all";
  if (text === "none") return "none";
  const uids = parseList(text);
  if (uids.length === 0 || !uids.every((uid) => isUid(uid) && isInRoot(uid)))
    throw new Error("empty, *, none, or uids of organizations (40 of 0-9a-f each), separated by commas");
  return [...new Set(uids)];
}

export function parsePullRecordings(text: string): PullRecordings {
  const form = `${PULL_RECORDINGS.join(", ")}, and entries uid=${PULL_RECORDINGS[0]} for organizations, separated by commas`;
  const recordingFrom = (word: string): PullRecording => {
    const found = PULL_RECORDINGS.find((recording) => recording === word);
    if (found === undefined) throw new Error(form);
    return found;
  };
  const entries = parseList(text);
  const general = entries.filter((entry) => !entry.includes("="));
  if (general.length > 1) throw new Error(form);
  const exceptions = entries
    .filter((entry) => entry.includes("="))
    .map((entry): [string, PullRecording] => {
      const [uid = "", word = ""] = entry.split("=", 2);
      if (!isUid(uid) || !isInRoot(uid)) throw new Error(form);
      return [uid, recordingFrom(word)];
    });
  return { general: recordingFrom(general[0] ?? "manifests"), exceptions: new Map(exceptions) };
}

export function parsePinnedIssuers(text: string): ReadonlyMap<string, unknown> {
  return new Map(
    parseList(text).map((entry) => {
      const split = entry.lastIndexOf("=");
      if (split < 1 || !isIssuer(entry.slice(0, split)))
        throw new Error("entries of the form issuer=path, separated by commas, with issuers that start with https:// or http://");
      return [entry.slice(0, split), readJwks(entry.slice(split + 1))];
    }),
  );
}

function readJwks(path: string): unknown {
  try {
    const set: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (Array.isArray((set as { keys?: unknown } | null)?.keys)) return set;
  } catch {
    // The error below names the file.
  }
  throw new Error(`paths of JWKS files; ${path} cannot be read as one`);
}

/** A target of backups: a folder, which becomes absolute, or `s3://bucket/prefix`. */
export function parseTargetName(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//.test(text)) return text === "" ? "" : resolve(text);
  if (parseS3Target(text, { endpoint: "", region: "", pathStyle: false }) === undefined) throw new Error("a folder, or s3://bucket/prefix");
  return text;
}

export function nonEmpty(text: string): string {
  if (text.trim() === "") throw new Error("a path");
  return text;
}

export function matching(pattern: RegExp, text: string, what: string): string {
  if (!pattern.test(text)) throw new Error(what);
  return text;
}
