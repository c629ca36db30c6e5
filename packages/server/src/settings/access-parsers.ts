/** Parsers of the settings of access. Each parser throws an Error whose message continues "must be …". */
import { readFileSync } from "node:fs";
import { ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { RequiredTerms } from "../api/call/required-terms.ts";
import type { OidcSubject, ServicePrincipals } from "../iam/tokens/workload-login.ts";
import { issuerFrom } from "./addresses.ts";
import { parseList } from "./values.ts";

/** A `*` anywhere else would match nothing. */
export function parseAudiences(text: string): string[] {
  const audiences = parseList(text);
  if (!audiences.every((audience) => /^(?:\*\.[^*.][^*]*|[^*]+)$/.test(audience)))
    throw new Error("URLs, hosts or all hosts below one, such as *.example.com, separated by commas");
  return audiences;
}

export function parsePinnedIssuers(text: string): ReadonlyMap<string, unknown> {
  return new Map(
    parseList(text).map((entry) => {
      const split = entry.lastIndexOf("=");
      const issuer = split < 1 ? undefined : issuerFrom(entry.slice(0, split));
      if (issuer === undefined)
        throw new Error("entries of the form issuer=path, separated by commas, with issuers that start with https:// or http://");
      return [issuer, readJwks(entry.slice(split + 1))];
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

export function parseServicePrincipals(text: string): ServicePrincipals {
  const known = new Map<ServicePrincipal, OidcSubject[]>();
  for (const entry of parseList(text)) {
    const match = /^([A-Z_]+)=(\S+) (\S+)$/.exec(entry);
    const principal = ServicePrincipal[(match?.[1] ?? "") as keyof typeof ServicePrincipal];
    const [, , named = "", subject] = match ?? [];
    const issuer = issuerFrom(named);
    if (principal === undefined || principal === ServicePrincipal.UNSPECIFIED || issuer === undefined || subject === undefined) {
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
