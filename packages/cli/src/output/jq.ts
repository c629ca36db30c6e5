/** Evaluates jq expressions, with jq itself compiled to WebAssembly. */
import { raw } from "jq-wasm";
import { usageFailure } from "../failure.ts";

/** @returns the results as text; strings are unquoted, as with `jq -r` */
export async function evaluateJq(value: unknown, expression: string): Promise<string> {
  try {
    return await raw(JSON.stringify(value), expression, ["-r"]);
  } catch (error) {
    throw usageFailure(`--jq: ${(error as Error).message.trim().split("\n")[0]}`);
  }
}
