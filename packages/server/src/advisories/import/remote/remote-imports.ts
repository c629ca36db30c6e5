/** Imports over the API and mirrors of feeds, in the background. All their state is in the database, so any server can go on with them. */
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import { type MirrorOptions, startMirrorWorker } from "../../mirrors/mirror-worker.ts";
import { createRecordReader } from "../record-reader.ts";
import { startFetchWorker } from "./import-fetch.ts";
import { createImportQueue } from "./import-queue.ts";
import type { RunOptions } from "./import-run.ts";
import { startSweep } from "./import-sweep.ts";
import { startImportWorker } from "./import-worker.ts";

/** Bytes of a document that is parsed as a whole, in the memory of the server. */
const MAX_DOCUMENT = 16 * 1024 * 1024;

export interface RemoteImports extends AsyncDisposable {
  readonly files: StagedFiles;
  /** Bytes of an import's file. */
  readonly maxBytes: number;
  /** There may be an import to run or a feed to fetch. Costs next to nothing. */
  wake(): void;
  /** Call it when an import is deleted. */
  discard(uid: string, file: string): void;
}

export type RemoteImportOptions = Omit<RunOptions, "queue" | "reader"> & Omit<MirrorOptions, "onImport">;

export function startRemoteImports(options: RemoteImportOptions): RemoteImports {
  const { store, clock, log, files, maxBytes } = options;
  const reader = createRecordReader(MAX_DOCUMENT);
  const imports = startImportWorker({ ...options, reader, queue: createImportQueue(store, clock) });
  const mirrors = startMirrorWorker({ ...options, onImport: () => imports.wake() });
  const fetches = startFetchWorker({ ...options, onImport: () => imports.wake() });
  const sweep = startSweep(options);
  return {
    files,
    maxBytes,
    wake() {
      imports.wake();
      fetches.wake();
      mirrors.wake();
    },
    discard(uid, file) {
      imports.abort(uid);
      fetches.abort(uid);
      // If this fails, the sweep removes the file.
      files.remove(file).catch((error: unknown) => log.warn({ err: error }, "the file of a deleted import was not removed"));
    },
    async [Symbol.asyncDispose]() {
      await sweep[Symbol.asyncDispose]();
      await fetches[Symbol.asyncDispose]();
      await mirrors[Symbol.asyncDispose]();
      await imports[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
    },
  };
}
