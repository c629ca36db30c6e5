/** Trusts the certificate authorities that a context names, in addition to those of the system and of Node. */
import { readFileSync } from "node:fs";
import type * as Tls from "node:tls";
import { usageFailure } from "../failure.ts";

const trusted = new Set<string>();

/** For all further connections of this process. Loads TLS only for contexts that need it. */
export function trustAuthorities(path: string | undefined): void {
  if (path === undefined || trusted.has(path)) return;
  const tls = process.getBuiltinModule("node:tls") as typeof Tls;
  if (tls.setDefaultCACertificates === undefined)
    throw usageFailure(`Node ${process.versions.node} cannot trust a file of its own`, `set NODE_EXTRA_CA_CERTS=${path}, or use Node 24`);
  const pem = readFileSync(path, "utf8");
  try {
    tls.setDefaultCACertificates([...tls.getCACertificates("default"), ...certificatesIn(pem)]);
  } catch (error) {
    throw usageFailure(`${path} has no valid certificate: ${(error as Error).message}`);
  }
  trusted.add(path);
}

function certificatesIn(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new Error("it has none in PEM form");
  return found;
}
