/** From staged bytes to a published file, whoever brought them: they are read, published, and discarded where anything of that fails. */
import { HoltError } from "../lib/errors.ts";
import type { LibraryChange } from "./library-event.ts";
import { type Publication, type PublishDependencies, publish } from "./publish.ts";
import type { Staged } from "./stage.ts";

export type Outcome = Awaited<ReturnType<typeof publish>>;

/** @param read throws what is wrong with the bytes; `now` is asked after that, since reading takes time */
export async function publishStaged(
  staged: Staged,
  read: () => Promise<Publication>,
  change: () => LibraryChange,
  dependencies: PublishDependencies,
): Promise<Outcome> {
  let outcome: Outcome | undefined;
  try {
    outcome = await publish(staged, await read(), change(), dependencies);
    return outcome;
  } finally {
    await dependencies.staging.discard(staged, outcome !== undefined);
  }
}

/** Whoever uploads many files at once must see which of them is meant. */
export function namingFile<T>(fileName: string, reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    throw error instanceof HoltError ? new HoltError(error.code, `${error.message} (${fileName.slice(0, 255)})`, error.details) : error;
  });
}
