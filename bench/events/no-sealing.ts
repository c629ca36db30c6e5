/** Preloaded with `--import`: audit entries are written and wait, but nothing seals them. */
import { replaceFunction } from "./replace-function.ts";

replaceFunction("/src/auditing/chain/seal.ts", "export async function seal(", "export async function seal() { return false; }");
