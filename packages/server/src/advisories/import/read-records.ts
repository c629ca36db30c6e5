/** Reads files into records, which is all work before the database. Reports problems and continues. */
import type { ReadContext } from "./context.ts";
import type { DocumentLimits } from "./document-limits.ts";
import { documentsIn, documentsOfLines, type FoundDocument, nodeOf } from "./documents.ts";
import { filesOf } from "./files.ts";
import { type ImportKind, readDocument } from "./formats.ts";
import type { ImportFile } from "./import-file.ts";
import type { ImportProblem } from "./import-options.ts";
import { BadRecord, type Located } from "./record.ts";

export interface ReadOptions {
  /** The path of a file or a folder. */
  readonly path: string;
  readonly kind: ImportKind;
  readonly limits: DocumentLimits;
  /** Unix milliseconds. */
  readonly now: number;
  report(problem: ImportProblem): void;
  advance(bytes: number): void;
  /** Counts a file that contains nothing like records. */
  ignore(): void;
}

/** Yields the records of one document at a time. */
export async function* readRecords(options: ReadOptions): AsyncGenerator<readonly Located[]> {
  const report = (file: string, reason: string) => options.report({ file, position: "", reason });
  for await (const file of filesOf(options.path, { report, advance: options.advance })) {
    if (Buffer.isBuffer(file.content)) yield* recordsIn(documentsIn(file.content, file.isExplicit, options.limits), file, options);
    else yield* recordsOfLines(file.content, file, options);
  }
}

function* recordsIn(documents: Iterable<FoundDocument>, file: ImportFile, options: ReadOptions): Generator<readonly Located[]> {
  let isEmpty = true;
  for (const found of documents) {
    isEmpty = false;
    yield recordsOf(found, file.name, options);
  }
  if (isEmpty) options.ignore();
}

async function* recordsOfLines(
  content: AsyncIterable<Uint8Array>,
  { name: file, isExplicit }: ImportFile,
  options: ReadOptions,
): AsyncGenerator<readonly Located[]> {
  const documents = documentsOfLines(content, isExplicit, options.limits);
  for (let isEmpty = true; ; isEmpty = false) {
    const next = await documents.next().catch((error: Error) => {
      // A failure of the disk ends the import.
      if ("syscall" in error) throw error;
      options.report({ file, position: "", reason: `${error.message.slice(0, 200)}; the rest is not read` });
    });
    if (next === undefined) return;
    if (next.done) return isEmpty ? options.ignore() : undefined;
    yield recordsOf(next.value, file, options);
  }
}

function recordsOf(found: FoundDocument, file: string, { kind, now, report }: ReadOptions): readonly Located[] {
  if ("reason" in found) {
    report({ file, position: found.position, reason: found.reason });
    return [];
  }
  const reportRecord = ({ pointer, message }: BadRecord) =>
    report({ file, position: `${found.position} ${pointer}`.trim(), reason: message });
  let problems = 0;
  const context: ReadContext = {
    now,
    report(problem) {
      if (++problems > MAX_PROBLEMS) throw new TooManyProblems();
      reportRecord(problem);
    },
  };
  try {
    const position = [found.position, found.pointer].filter((part) => part !== "").join(" ");
    return readDocument(nodeOf(found), kind, context).map((record) => ({ record, file, position }));
  } catch (error) {
    if (error instanceof TooManyProblems)
      reportRecord(new BadRecord(found.pointer, `more than ${MAX_PROBLEMS} problems; the document is skipped`));
    else if (error instanceof BadRecord) reportRecord(error);
    else throw error;
    return [];
  }
}

/** Problems per document. Reporting more is useless and delays other imports. */
const MAX_PROBLEMS = 10_000;

/** Not a BadRecord, because readers continue after those. */
class TooManyProblems extends Error {
  override readonly name = "TooManyProblems";
}
