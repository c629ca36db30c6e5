/** Finds settings that are valid by themselves but not together. */
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../config.ts";

/** Settings that could not be parsed are missing, and have their own problems. */
export type ParsedSettings = { readonly [Name in keyof Config]: Config[Name] | undefined };

/** @returns a sentence for each problem */
export function conflictsOf(parsed: ParsedSettings): string[] {
  return [...incompleteGroups(parsed), ...databaseConflicts(parsed), ...placeConflicts(parsed), ...addressConflicts(parsed)];
}

function* incompleteGroups({ tlsCert, tlsKey, loginIssuer, loginClientId, loginClientSecret, ...parsed }: ParsedSettings) {
  const areApart = (one: string | undefined, other: string | undefined) =>
    one !== undefined && other !== undefined && (one === "") !== (other === "");
  if (areApart(tlsCert, tlsKey)) yield "HOLT_TLS_CERT and HOLT_TLS_KEY must be set together";
  if (areApart(loginIssuer, loginClientId)) yield "HOLT_LOGIN_ISSUER and HOLT_LOGIN_CLIENT_ID must be set together";
  if (loginClientSecret !== "" && loginClientId === "") yield "HOLT_LOGIN_CLIENT_SECRET needs HOLT_LOGIN_ISSUER and HOLT_LOGIN_CLIENT_ID";
  if (areApart(parsed.smtpUrl, parsed.smtpFrom)) yield "HOLT_SMTP_URL and HOLT_SMTP_FROM must be set together";
}

function* databaseConflicts({ databaseUrl, walArchive, processes }: ParsedSettings) {
  if (walArchive !== "" && databaseUrl !== "") yield "HOLT_WAL_ARCHIVE is for SQLite; use the archiving of PostgreSQL itself";
  if (processes !== undefined && processes > 1 && databaseUrl === "")
    yield "HOLT_PROCESSES above 1 needs PostgreSQL (HOLT_DATABASE_URL): with SQLite, a data folder belongs to one process";
}

/** A copy in the same place protects nothing, and is taken for complete. */
function* placeConflicts({ blobs, blobsFallback, dataDir, walArchive }: ParsedSettings) {
  if (blobs !== undefined && isDeepStrictEqual(blobs, blobsFallback)) yield "HOLT_BLOBS_FALLBACK must not be the place of HOLT_BLOBS";
  if (dataDir !== undefined && `${walArchive}/`.startsWith(`${dataDir}/`)) yield "HOLT_WAL_ARCHIVE must not be in HOLT_DATA_DIR";
}

function* addressConflicts({ listen, metricsListen, baseUrl, tlsCert }: ParsedSettings) {
  if (tlsCert && baseUrl?.startsWith("http:"))
    yield "HOLT_BASE_URL must begin with https:// if HOLT_TLS_CERT is set: the port serves TLS only";
  if (listen === undefined) return;
  if (listen.port === 0 && baseUrl === "") yield "HOLT_LISTEN with port 0 (any free port) needs HOLT_BASE_URL: tokens name it";
  const listensTwice = listen.port !== 0 && listen.port === metricsListen?.port && listen.host === metricsListen.host;
  if (listensTwice) yield "HOLT_METRICS_LISTEN must not be the address of HOLT_LISTEN";
}
