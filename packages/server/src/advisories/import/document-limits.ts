/** Limits of the documents of an import, and the memory that reading them takes. Loads no parser: servers need it at their start. */
const MIB = 1024 * 1024;
/** Memory for each byte of YAML that `lib/yaml.ts` parses, in bytes, in the worst case. */
const YAML_MEMORY_FACTOR = 370;

/** Bytes of one document, which is held in memory. */
export const MAX_DOCUMENT = 64 * MIB;

export interface DocumentLimits {
  /** Bytes, at most MAX_DOCUMENT. */
  readonly document: number;
  /** Bytes. YAML is slow to parse. Real files have a tenth of the command line's limit. */
  readonly yaml: number;
  readonly line: number;
}

export function documentLimits(document: number): DocumentLimits {
  return { document, yaml: Math.min(document / 16, 4 * MIB), line: Math.min(document, 16 * MIB) };
}

/** The heap for reading, in MiB: in the worst case JSON takes 24 times its length. The rest needs 256 MiB. */
export function heapFor({ document, yaml }: DocumentLimits): number {
  return Math.ceil(Math.max(document * 24, yaml * YAML_MEMORY_FACTOR) / MIB) + 256;
}
