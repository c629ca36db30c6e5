/** From files to records: everything before the database. What is wrong goes to `report`, and the rest on. */
import type { ReadContext } from "./context.ts";
import { type DocumentLimits, documentsIn, documentsOfLines, type Found, nodeOf } from "./documents.ts";
import { filesOf } from "./files.ts";
import { type ImportKind, readDocument } from "./formats.ts";
import type { ImportFile } from "./import-file.ts";
import type { ImportProblem } from "./import-options.ts";
import { BadRecord, type Placed } from "./record.ts";

export interface ReadOptions {
  /** Of a file or a folder. */
  readonly path: string;
  readonly kind: ImportKind;
  readonly limits: DocumentLimits;
  /** Unix milliseconds. */
  readonly now: number;
  report(problem: ImportProblem): void;
  advance(bytes: number): void;
  /** A file that holds nothing like records. */
  ignore(): void;
}

/** A document's records at a time. */
export async function* readRecords(options: ReadOptions): AsyncGenerator<readonly Placed[]> {
  const report = (file: string, reason: string) => options.report({ file, position: "", reason });
  for await (const file of filesOf(options.path, { report, advance: options.advance })) {
    if (Buffer.isBuffer(file.content)) yield* recordsIn(documentsIn(file.content, file.isExplicit, options.limits), file, options);
    else yield* recordsOfLines(file.content, file, options);
  }
}

function* recordsIn(documents: Iterable<Found>, file: ImportFile, options: ReadOptions): Generator<readonly Placed[]> {
  let isEmpty = true;
  for (const found of documents) {
    isEmpty = false;
    yield recordsOf(found, file.name, options);
  }
  if (!isEmpty) return;
  options.ignore();
}

async function* recordsOfLines(
  content: AsyncIterable<Uint8Array>,
  { name: file, isExplicit }: ImportFile,
  options: ReadOptions,
): AsyncGenerator<readonly Placed[]> {
  const documents = documentsOfLines(content, isExplicit, options.limits);
  for (let isEmpty = true; ; isEmpty = false) {
    const next = await documents.next().catch((error: Error) => {
      // That of the disk is not the file's fault.
      if ("syscall" in error) throw error;
      options.report({ file, position: "", reason: `it cannot be read further: ${error.message.slice(0, 200)}` });
    });
    if (next === undefined) return;
    if (next.done) return isEmpty ? options.ignore() : undefined;
    yield recordsOf(next.value, file, options);
  }
}

function recordsOf(found: Found, file: string, { kind, now, report }: ReadOptions): readonly Placed[] {
  if ("reason" in found) {
    report({ file, position: found.position, reason: found.reason });
    return [];
  }
  const tell = ({ pointer, message }: BadRecord) => report({ file, position: `${found.position} ${pointer}`.trim(), reason: message });
  let problems = 0;
  const context: ReadContext = {
    now,
    report(problem) {
      if (++problems > MAX_PROBLEMS) throw new TooManyProblems();
      tell(problem);
    },
  };
  try {
    const position = [found.position, found.pointer].filter((part) => part !== "").join(" ");
    return readDocument(nodeOf(found), kind, context).map((record) => ({ record, file, position }));
  } catch (error) {
    if (error instanceof TooManyProblems)
      tell(new BadRecord(found.pointer, `it has more than ${MAX_PROBLEMS} problems, so none of it is taken`));
    else if (error instanceof BadRecord) tell(error);
    else throw error;
    return [];
  }
}

/** Of one document: nobody reads more, and telling them takes time that others wait for. */
const MAX_PROBLEMS = 10_000;

/** No BadRecord, which readers would go on after. */
class TooManyProblems extends Error {
  override readonly name = "TooManyProblems";
}
