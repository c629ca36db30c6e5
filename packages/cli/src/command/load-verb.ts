/** Loads one command and nothing of the others. */
import type { CommandEntry } from "../generated.ts";
import type { Verb } from "./verb.ts";

export async function loadVerb(entry: CommandEntry): Promise<Verb> {
  if (entry.kind === "operation") return (await import("../operations/operation-verb.ts")).verbOfOperation(entry.path);
  const { verbs } = await import("../commands/index.ts");
  const load = verbs[entry.path];
  if (load === undefined) throw new Error(`commands/index.ts does not list "${entry.path}"`);
  return (await load()).verb;
}
