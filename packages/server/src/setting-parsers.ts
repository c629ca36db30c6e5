/** Parsers of the settings of single parts of the server. Each parser throws an Error whose message continues "must be …". */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { PublicOrganizations } from "./advisories/documents/publication.ts";
import type { RequiredTerms } from "./api/call/required-terms.ts";
import { parseS3Target } from "./blobs/s3/s3-location.ts";
import { parseSecretsKey } from "./iam/secrets/secrets-key.ts";
import type { OidcSubject, ServicePrincipals } from "./iam/tokens/workload-login.ts";
import { isInRoot, isUid } from "./lib/uid.ts";
import { type VendorProfile, vendorProfiles } from "./lib/vendor-profile.ts";
import { PULL_RECORDINGS, type PullRecording, type PullRecordings } from "./registry/content/pull-recording.ts";
import { isIssuer, parseUrl } from "./setting-addresses.ts";
import { parseList } from "./setting-values.ts";

export function parseVendorProfile(text: string): VendorProfile {
  const profile = vendorProfiles.get(text);
  if (profile === undefined) throw new Error([...vendorProfiles.keys()].map((name) => name || "empty").join(" or "));
  return profile;
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
