/** Turns staged bytes into a published file, for uploads and imports: reads, publishes, and discards the bytes if either fails. */
import { HoltError } from "../lib/errors.ts";
import type { LibraryChange } from "./library-event.ts";
import type { Publication } from "./publication.ts";
import { type PublishDependencies, type PublishOutcome, publish } from "./publish.ts";
import type { Staged } from "./stage.ts";

/**
 * @param read throws if the bytes cannot be published
 * @param change is called after `read`, which takes time, so that the recorded time is current
 */
export async function publishStaged(
  staged: Staged,
  read: () => Promise<Publication>,
  change: () => LibraryChange,
  dependencies: PublishDependencies,
): Promise<PublishOutcome> {
  let outcome: PublishOutcome | undefined;
  try {
    outcome = await publish(staged, await read(), change(), dependencies);
    return outcome;
  } finally {
    await dependencies.staging.discard(staged, outcome !== undefined);
  }
}

/** Adds the file's name to the message of an error: a client that uploads many files must see which one failed. */
export function withFileName<T>(fileName: string, reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    throw error instanceof HoltError ? new HoltError(error.code, `${error.message} (${fileName.slice(0, 255)})`, error.details) : error;
  });
}
