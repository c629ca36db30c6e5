/**
 * Imports records of many formats from files, folders and archives. Known records stay unchanged, so an import can be
 * repeated and resumed.
 */
import { invalidArgument } from "../../lib/errors.ts";
import { isUid, newUid } from "../../lib/uid.ts";
import { sizeOf } from "./files.ts";
import type { BatchOutcome, ImportOptions, ImportProblem, ImportResult } from "./import-options.ts";
import type { PreparedRecord } from "./prepare-advisory.ts";
import type { Located, VulnerabilityRecord } from "./record.ts";
import { writeAdvisories } from "./write-advisories.ts";
import { writeVulnerabilities } from "./write-vulnerabilities.ts";

/** Records per batch: enough to share the cost of a commit, and few enough to let other writers in. */
const BATCH_SIZE = 500;

/**
 * Rejects if the source cannot be opened, the group does not exist, or the database fails. Problems of single records or
 * files go to `onProblem`.
 */
export async function importRecords(options: ImportOptions): Promise<ImportResult> {
  const { reader, path, kind, parent, actor, approves, mayDelete, clock, onProgress, onProblem, signal } = options;
  const { batchSize = BATCH_SIZE, batchesPerTransaction = 1 } = options;
  if (kind === "advisories" && !isUid(newUid(newUid(parent))))
    throw invalidArgument("parent", "the group is too deep: with an advisory and its events, the tree would have more than 64 levels");
  const totals = { read: 0, created: 0, updated: 0, unchanged: 0, ignored: 0, problems: 0 };
  const totalBytes = onProgress === undefined ? undefined : await sizeOf(path);
  let bytes = 0;
  const report = (problem: ImportProblem) => {
    totals.problems++;
    onProblem(problem);
  };
  const reportProgress = () => onProgress?.({ bytes, totalBytes, read: totals.read, problems: totals.problems });
  const store = async (batch: readonly Located[]): Promise<void> => {
    const outcome = await write(options, batch);
    const read = batch.length - outcome.refused.length;
    totals.read += read;
    totals.created += outcome.created;
    totals.updated += outcome.updated;
    totals.unchanged += read - outcome.created - outcome.updated;
    for (const problem of outcome.refused) report(problem);
    reportProgress();
  };
  const job = { path, kind, parent, actor, approves, mayDelete, batchSize, now: clock.now().getTime() };
  const waiting: (readonly Located[])[] = [];
  for await (const batch of reader.read(job, signal)) {
    bytes += batch.bytes;
    totals.ignored += batch.ignored;
    for (const problem of batch.problems) report(problem);
    if (batch.records.length > 0) waiting.push(batch.records);
    if (waiting.length >= batchesPerTransaction) await store(waiting.splice(0).flat());
    else reportProgress();
    signal?.throwIfAborted();
  }
  if (waiting.length > 0) await store(waiting.flat());
  return totals;
}

function write(options: ImportOptions, batch: readonly Located[]): Promise<BatchOutcome> {
  return options.kind === "advisories"
    ? writeAdvisories(options, batch as readonly PreparedRecord[])
    : writeVulnerabilities(
        options,
        batch.map(({ record }) => record as VulnerabilityRecord),
      );
}
