/** Reads the TLS certificate and its key from files, and reloads them without a restart when the files change. */
import { X509Certificate } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { createSecureContext, type SecureContextOptions, type Server } from "node:tls";
import type { Log } from "../lib/log.ts";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** @throws Error for the operator if a file cannot be read, or the key does not belong to the certificate */
export function readCertificate({ certFile, keyFile }: CertificateFiles): SecureContextOptions {
  try {
    const options: SecureContextOptions = { cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: "TLSv1.2" };
    createSecureContext(options);
    return options;
  } catch (error) {
    const names = `HOLT_TLS_CERT (${certFile}) and HOLT_TLS_KEY (${keyFile})`;
    throw new Error(`cannot use the certificate of ${names}: ${(error as Error).message}`, { cause: error });
  }
}

/** Clients refuse an expired certificate, and the server hears of it only as handshakes that end. */
function warnIfExpired({ certFile }: CertificateFiles, log: Log): void {
  const { validToDate } = new X509Certificate(readFileSync(certFile));
  if (validToDate < new Date())
    log.warn({ certFile, expired: validToDate.toISOString() }, "the TLS certificate has expired: clients refuse it");
}

/**
 * Gives new connections of `server` the certificate that is in the files by then; established connections keep theirs. A pair that does not
 * match is logged, and the previous one stays in use.
 */
export function watchCertificate(files: CertificateFiles, server: Server, log: Log, intervalMs = 5_000): Disposable {
  const reload = () => {
    try {
      server.setSecureContext(readCertificate(files));
      log.info({ certFile: files.certFile }, "TLS certificate reloaded");
      warnIfExpired(files, log);
    } catch (err) {
      // This also happens when a renewal has written only one of the two files. The second change triggers another reload.
      log.error({ err, certFile: files.certFile }, "TLS certificate is unusable; the previous one stays in use");
    }
  };
  warnIfExpired(files, log);
  const paths = [files.certFile, files.keyFile];
  // Polls, because mounted secrets change by swapping a symbolic link of a parent folder, which file watchers do not notice.
  for (const path of paths) watchFile(path, { interval: intervalMs, persistent: false }, reload);
  return {
    [Symbol.dispose]: () => {
      for (const path of paths) unwatchFile(path, reload);
    },
  };
}
