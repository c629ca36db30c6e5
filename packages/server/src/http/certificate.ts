/** The TLS certificate and its key: read from files, and again whenever these change, without a restart. */
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { createSecureContext, type SecureContextOptions, type Server } from "node:tls";
import type { Log } from "../lib/log.ts";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Throws where a file cannot be read, or the two do not belong together. */
export function readCertificate(files: CertificateFiles): SecureContextOptions {
  const options: SecureContextOptions = { cert: readFileSync(files.certFile), key: readFileSync(files.keyFile), minVersion: "TLSv1.2" };
  createSecureContext(options);
  return options;
}

/** New connections of `server` get what is in the files by then; established ones keep what they have. A broken pair is logged and the old one kept. */
export function watchCertificate(files: CertificateFiles, server: Server, log: Log, intervalMs = 5_000): Disposable {
  const reload = () => {
    try {
      server.setSecureContext(readCertificate(files));
      log.info({ certFile: files.certFile }, "TLS certificate loaded anew");
    } catch (err) {
      // Also what is seen while a renewal has written one of the two files: the change of the other one comes here again.
      log.error({ err, certFile: files.certFile }, "TLS certificate is unusable, the one before stays in use");
    }
  };
  const paths = [files.certFile, files.keyFile];
  // Polling, because mounted secrets change by swapping a symbolic link of a folder above, which no watch on the file sees.
  for (const path of paths) watchFile(path, { interval: intervalMs, persistent: false }, reload);
  return {
    [Symbol.dispose]: () => {
      for (const path of paths) unwatchFile(path, reload);
    },
  };
}
