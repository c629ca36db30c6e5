/** Makes new names in a folder durable. */
import { open } from "node:fs/promises";

export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}
