/** Imports records of many formats, whatever they come in: what is known already stays as it is, so an import can be repeated and resumed. */
import { setImmediate } from "node:timers/promises";
import { invalidArgument } from "../../lib/errors.ts";
import { isUid, newUid } from "../../lib/uid.ts";
import { documentLimits } from "./documents.ts";
import { sizeOf } from "./files.ts";
import type { BatchOutcome, ImportOptions, ImportProblem, ImportResult } from "./import-source.ts";
import { readRecords } from "./read-records.ts";
import type { AdvisoryRecord, ImportRecord, Placed, VulnerabilityRecord } from "./record.ts";
import { writeAdvisories } from "./write-advisories.ts";
import { writeVulnerabilities } from "./write-vulnerabilities.ts";

/** Records of one transaction: many share the cost of a commit, and nobody else waits long for them. */
const BATCH = 250;
/** After so long others have the process: what is read from memory never waits for anything by itself. */
const SLICE_MS = 10;
/** Characters of it, about: records may be long. */
const BATCH_WEIGHT = 500_000;

/**
 * Rejects where the source cannot be opened at all, the group does not exist, or the database fails; what is wrong with single records or files goes to
 * `onProblem`.
 */
export async function importRecords(options: ImportOptions): Promise<ImportResult> {
  const { source, kind, parent, clock, batchSize = BATCH, maxDocumentBytes, onProgress, onProblem, signal } = options;
  if (kind === "advisories" && !isUid(newUid(newUid(parent))))
    throw invalidArgument("parent", "the tree is as deep as it can be here: 64 levels with an advisory and its events");
  const totals = { read: 0, created: 0, updated: 0, unchanged: 0, ignored: 0, problems: 0 };
  const totalBytes = "path" in source && onProgress !== undefined ? await sizeOf(source.path) : undefined;
  let bytes = 0;
  let writing: Promise<void> = Promise.resolve();
  const report = (problem: ImportProblem) => {
    totals.problems++;
    onProblem(problem);
  };
  const store = (batch: readonly Placed[]): Promise<void> =>
    write(options, batch).then((outcome) => {
      const read = batch.length - outcome.refused.length;
      totals.read += read;
      totals.created += outcome.created;
      totals.updated += outcome.updated;
      totals.unchanged += read - outcome.created - outcome.updated;
      for (const problem of outcome.refused) report(problem);
      onProgress?.({ bytes, totalBytes, read: totals.read, problems: totals.problems });
    });
  let rested = performance.now();
  const rest = async () => {
    if (performance.now() - rested > SLICE_MS) {
      await setImmediate();
      rested = performance.now();
    }
    signal?.throwIfAborted();
  };
  let batch: Placed[] = [];
  let weight = 0;
  const records = readRecords({
    source,
    kind,
    limits: documentLimits(maxDocumentBytes),
    now: clock.now().getTime(),
    advance: (more) => {
      bytes += more;
    },
    ignore: () => {
      totals.ignored++;
    },
    report,
  });
  for await (const read of records) {
    await rest();
    for (const placed of read) {
      batch.push(placed);
      weight += weightOf(placed.record);
      if (batch.length < batchSize && weight < BATCH_WEIGHT) continue;
      // One batch is read while the one before it is written.
      await writing;
      await rest();
      writing = store(batch);
      writing.catch(() => {});
      batch = [];
      weight = 0;
    }
  }
  await writing;
  if (batch.length > 0) await store(batch);
  return totals;
}

/** Of an event: it is stored twice, with all that is known of it. */
const EVENT_WEIGHT = 400;

function weightOf(record: ImportRecord): number {
  return "events" in record ? record.events.length * EVENT_WEIGHT : record.details.length + record.references.length * 100;
}

function write(options: ImportOptions, batch: readonly Placed[]): Promise<BatchOutcome> {
  return options.kind === "advisories"
    ? writeAdvisories(options, batch as readonly Placed<AdvisoryRecord>[])
    : writeVulnerabilities(
        options,
        batch.map(({ record }) => record as VulnerabilityRecord),
      );
}
