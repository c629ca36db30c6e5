/** Checks the certificate files of HOLT_TLS_CERT and HOLT_TLS_KEY, or the certificate that a proxy serves at the base URL. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { connect } from "node:tls";
import type { Config } from "../../config.ts";
import { readCertificate } from "../../http/certificate.ts";
import { type Problem, problemsOf } from "./problem.ts";

const DAY_MS = 24 * 3_600_000;
const MIN_DAYS_LEFT = 14;

export async function checkCertificate({ tlsCert, tlsKey, baseUrl }: Config): Promise<Problem[]> {
  if (tlsCert === "") return [];
  try {
    readCertificate({ certFile: tlsCert, keyFile: tlsKey });
    const renew = "renew it; the server reads the files again within five seconds";
    return problemsOfCertificate(new X509Certificate(await readFile(tlsCert)), { host: new URL(baseUrl).hostname, renew });
  } catch (error) {
    const remedy = "check that both files are PEM, belong together and can be read by this user";
    return [{ check: "certificate", problem: (error as Error).message, remedy }];
  }
}

/** Call it only once a request has been answered: other failures are reported for the request. */
export async function checkServedCertificate(baseUrl: string, timeoutMs: number): Promise<Problem[]> {
  const { protocol, hostname: host, port } = new URL(baseUrl);
  if (protocol !== "https:") return [];
  const name = host.replace(/^\[|\]$/g, "");
  const socket = connect({
    host: name,
    port: Number(port || 443),
    ...(isIP(name) === 0 && { servername: name }),
    rejectUnauthorized: false,
  });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(timeoutMs) });
    const certificate = socket.getPeerX509Certificate();
    return certificate === undefined ? [] : problemsOfCertificate(certificate, { host, renew: "renew it where the proxy gets it" });
  } catch {
    return [];
  } finally {
    socket.destroy();
  }
}

interface Expected {
  /** As in a URL. */
  readonly host: string;
  /** The remedy of a certificate that expires. */
  readonly renew: string;
}

export function problemsOfCertificate(certificate: X509Certificate, { host, renew }: Expected, now = new Date()): Problem[] {
  const { validFromDate, validToDate } = certificate;
  const daysLeft = Math.floor((validToDate.getTime() - now.getTime()) / DAY_MS);
  const name = host.replace(/^\[|\]$/g, "");
  const isForHost = (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
  return problemsOf("certificate", [
    [now < validFromDate, `the certificate is not valid before ${validFromDate.toISOString()}`, "check the clock, or wait"],
    [now >= validToDate, `the certificate expired at ${validToDate.toISOString()}`, renew],
    [now < validToDate && daysLeft < MIN_DAYS_LEFT, `the certificate expires in ${daysLeft} days`, renew],
    [
      !isForHost,
      `the certificate is not for ${name} of HOLT_BASE_URL (${certificate.subjectAltName ?? "no names"})`,
      "get one that names this host",
    ],
  ]);
}
