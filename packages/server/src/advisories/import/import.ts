/** Imports records of many formats, whatever they come in: what is known already stays as it is, so an import can be repeated and resumed. */
import type { ImportOptions, ImportResult } from "./import-source.ts";

/**
 * Rejects where the source cannot be opened at all, the group does not exist, or the database fails; what is wrong with single records or files goes to
 * `onProblem`.
 */
export async function importRecords(options: ImportOptions): Promise<ImportResult> {
  throw new Error(`no format is read yet: ${options.kind}`);
}
