/** Uploads a file to an import in chunks, each of which can be sent again. */
import { type FileHandle, open } from "node:fs/promises";
import type { Session } from "../contexts/session.ts";
import { startProgress } from "../terminal/progress.ts";

/** Less than the 3,000,000 bytes that a call takes. */
const CHUNK_BYTES = 2_000_000;
const MAX_ATTEMPTS = 3;

export interface Upload {
  /** uid of the import. */
  readonly uid: string;
  readonly path: string;
  readonly signal: AbortSignal;
}

/** @returns the size of the file */
export async function uploadImport({ rest }: Pick<Session, "rest">, { uid, path, signal }: Upload): Promise<number> {
  await using file = await open(path);
  const progress = startProgress({ title: "Uploading", total: (await file.stat()).size, unit: "bytes" });
  try {
    let offset = 0;
    for await (const chunk of chunksOf(file)) {
      const body = { offset: String(offset), data: chunk.toString("base64") };
      await repeat(() => rest.call({ method: "POST", path: `/holt/v1/imports/${uid}:write`, body, signal }));
      offset += chunk.length;
      progress.add(chunk.length);
    }
    return offset;
  } finally {
    progress.end();
  }
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The server accepts a chunk again whose answer was lost. */
async function repeat(send: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      await send();
      return;
    } catch (error) {
      const { code } = error as { code?: string };
      if (attempt === MAX_ATTEMPTS || (code !== "UNAVAILABLE" && code !== "DEADLINE_EXCEEDED")) throw error;
    }
}
