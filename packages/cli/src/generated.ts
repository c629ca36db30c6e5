/** Reads what `npm run generate` wrote about the commands. The folder is beside the sources and beside the built program. */
import { readFileSync } from "node:fs";
import type { Operation } from "./operations/operation.ts";

/** A command without its options. */
export interface CommandEntry {
  /** Words, separated by spaces. */
  readonly path: string;
  readonly summary: string;
  /** A verb is written by hand; an operation is generated from the contract. */
  readonly kind: "verb" | "operation";
}

export function readCommands(): readonly CommandEntry[] {
  return readGenerated("commands.json") as CommandEntry[];
}

export function readOperation(path: string): Operation {
  const words = path.split(" ");
  const file = words.slice(0, words[0] === "v1" ? 2 : 1).join("-");
  const operation = (readGenerated(`operations/${file}.json`) as Record<string, Operation>)[path];
  if (operation === undefined) throw new Error(`the generated files have no operation "${path}"; run npm run generate`);
  return operation;
}

function readGenerated(name: string): unknown {
  // A single executable of the server contains the command line and its files.
  const { holtExecutable } = globalThis as { holtExecutable?: { read(name: string): ArrayBuffer } };
  if (holtExecutable !== undefined) return JSON.parse(Buffer.from(holtExecutable.read(`gen/${name}`)).toString("utf8"));
  return JSON.parse(readFileSync(new URL(`../gen/${name}`, import.meta.url), "utf8"));
}
