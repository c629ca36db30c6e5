/** Limits of the documents that parsers read from blobs. They have no imports, so that a server need not load the parsers. */

/** Archive of a chart. Helm itself refuses larger ones. */
export const MAX_CHART_BYTES = 20 * 1024 * 1024;
/** SBOM, in a statement or alone. A document of this size takes a second to parse. */
export const MAX_SBOM_BYTES = 8 * 1024 * 1024;
