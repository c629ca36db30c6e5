/** Imports records of many formats, whatever they come in: what is known already stays as it is, so an import can be repeated and resumed. */
import { invalidArgument } from "../../lib/errors.ts";
import { isUid, newUid } from "../../lib/uid.ts";
import { sizeOf } from "./files.ts";
import type { BatchOutcome, ImportOptions, ImportProblem, ImportResult } from "./import-options.ts";
import type { PreparedRecord } from "./prepare-advisory.ts";
import type { Placed, VulnerabilityRecord } from "./record.ts";
import { writeAdvisories } from "./write-advisories.ts";
import { writeVulnerabilities } from "./write-vulnerabilities.ts";

/** Records of one transaction: many share the cost of a commit, and nobody else waits long for them. */
const BATCH = 500;

/**
 * Rejects where the source cannot be opened at all, the group does not exist, or the database fails; what is wrong with single records or files goes to
 * `onProblem`.
 */
export async function importRecords(options: ImportOptions): Promise<ImportResult> {
  const { reader, path, kind, parent, actor, approves, mayDelete, clock, batchSize = BATCH, onProgress, onProblem, signal } = options;
  if (kind === "advisories" && !isUid(newUid(newUid(parent))))
    throw invalidArgument("parent", "the tree is as deep as it can be here: 64 levels with an advisory and its events");
  const totals = { read: 0, created: 0, updated: 0, unchanged: 0, ignored: 0, problems: 0 };
  const totalBytes = onProgress === undefined ? undefined : await sizeOf(path);
  let bytes = 0;
  const report = (problem: ImportProblem) => {
    totals.problems++;
    onProblem(problem);
  };
  const tell = () => onProgress?.({ bytes, totalBytes, read: totals.read, problems: totals.problems });
  const store = async (batch: readonly Placed[]): Promise<void> => {
    const outcome = await write(options, batch);
    const read = batch.length - outcome.refused.length;
    totals.read += read;
    totals.created += outcome.created;
    totals.updated += outcome.updated;
    totals.unchanged += read - outcome.created - outcome.updated;
    for (const problem of outcome.refused) report(problem);
    tell();
  };
  const job = { path, kind, parent, actor, approves, mayDelete, batchSize, now: clock.now().getTime() };
  for await (const piece of reader.read(job, signal)) {
    bytes += piece.bytes;
    totals.ignored += piece.ignored;
    for (const problem of piece.problems) report(problem);
    if (piece.records.length > 0) await store(piece.records);
    else tell();
    signal?.throwIfAborted();
  }
  return totals;
}

function write(options: ImportOptions, batch: readonly Placed[]): Promise<BatchOutcome> {
  return options.kind === "advisories"
    ? writeAdvisories(options, batch as readonly PreparedRecord[])
    : writeVulnerabilities(
        options,
        batch.map(({ record }) => record as VulnerabilityRecord),
      );
}
