/** The verification of attestations, as a parser. */
import { defineParser } from "../../jobs/parsers.ts";
import type { CheckedAttestation, StoredAttestations } from "./attestation-verdicts.ts";

const CPU_MS = 5000;

/** Always on a thread: each signature takes milliseconds, and the library of Sigstore takes time to load. */
export const attestationParser = defineParser<StoredAttestations, readonly CheckedAttestation[]>({
  module: new URL("./attestation-verdicts.ts", import.meta.url),
  name: "verifyAttestations",
  pool: "documents",
  cpuMs: () => CPU_MS,
  field: "uid",
  content: "the attestations of a file",
});
