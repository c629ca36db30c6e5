/** Reads the fields of a resource from a file in JSON or YAML. */
import { readFile } from "node:fs/promises";
import { usageFailure } from "../failure.ts";
import { readStandardInput } from "../terminal/ask.ts";

/** @param path "-" for standard input */
export async function readText(path: string): Promise<string> {
  return path === "-" ? readStandardInput() : readFile(path, "utf8");
}

/** @throws Failure if the file is not one object */
export async function readFields(path: string): Promise<Record<string, unknown>> {
  const value = await parseDocument(await readText(path), path);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw usageFailure(`${path === "-" ? "standard input" : path} does not contain the fields of one resource`, "write them as an object");
  return value as Record<string, unknown>;
}

/** YAML contains JSON, but the parser of JSON is faster and is always loaded. */
export async function parseDocument(text: string, path: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    const { parse } = await import("yaml");
    try {
      return parse(text);
    } catch (error) {
      throw usageFailure(`${path} is neither JSON nor YAML: ${(error as Error).message.split("\n")[0]}`);
    }
  }
}
