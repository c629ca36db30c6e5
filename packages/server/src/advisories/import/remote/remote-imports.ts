/** Imports over the API and mirrors of feeds, as one thing that runs beside the server. Everything that it does is in the database, so any server goes on with it. */
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import { type MirrorOptions, MirrorWorker } from "../../mirrors/mirror-worker.ts";
import { createRecordReader } from "../record-reader.ts";
import { createImportLeases } from "./import-leases.ts";
import type { RunOptions } from "./import-run.ts";
import { startSweep } from "./import-sweep.ts";
import { ImportWorker } from "./import-worker.ts";

/** Of what is parsed as a whole: memory of the server's is needed for it. */
const MAX_DOCUMENT = 16 * 1024 * 1024;

export interface RemoteImports extends AsyncDisposable {
  readonly files: StagedFiles;
  /** Of an import's file. */
  readonly maxBytes: number;
  /** There may be an import to run or a feed to fetch. Costs next to nothing. */
  wake(): void;
  /** To be called when an import is deleted. */
  discard(uid: string, file: string): void;
}

export type RemoteImportOptions = Omit<RunOptions, "leases" | "reader"> & Omit<MirrorOptions, "onImport">;

export function startRemoteImports(options: RemoteImportOptions): RemoteImports {
  const { store, clock, log, files, maxBytes } = options;
  const reader = createRecordReader(MAX_DOCUMENT);
  const imports = new ImportWorker({ ...options, reader, leases: createImportLeases(store, clock) });
  const mirrors = new MirrorWorker({ ...options, onImport: () => imports.wake() });
  const sweep = startSweep(options);
  return {
    files,
    maxBytes,
    wake() {
      imports.wake();
      mirrors.wake();
    },
    discard(uid, file) {
      imports.cancel(uid);
      // Where this fails, it is found by sweeping.
      files.remove(file).catch((error: unknown) => log.warn({ err: error }, "the file of a deleted import was not removed"));
    },
    async [Symbol.asyncDispose]() {
      await sweep[Symbol.asyncDispose]();
      await mirrors[Symbol.asyncDispose]();
      await imports[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
    },
  };
}
