/** The problems of a running import: the first are kept, as short as people can read them, and all are counted. */
import type { ImportProblem } from "../import-options.ts";
import type { NumberedProblem } from "./import-leases.ts";
import { MAX_PROBLEMS } from "./import-row.ts";

const MAX_TEXT = 300;

export class ProblemList {
  readonly #path: string;
  readonly #name: string;
  #unsaved: NumberedProblem[] = [];
  #count = 0;

  /** @param path of the staged file, which problems shall not tell @param name what its sender calls it */
  constructor(path: string, name: string) {
    this.#path = path;
    this.#name = name;
  }

  get count(): number {
    return this.#count;
  }

  add({ file, position, reason }: ImportProblem): void {
    const number = this.#count++;
    if (number >= MAX_PROBLEMS) return;
    this.#unsaved.push({ number, file: short(this.#named(file)), position: short(position), reason: short(reason) });
  }

  /** Those that came since they were saved last. */
  unsaved(): readonly NumberedProblem[] {
    return [...this.#unsaved];
  }

  /** @param saved what `unsaved` answered, which is stored now */
  forget(saved: readonly NumberedProblem[]): void {
    this.#unsaved = this.#unsaved.slice(saved.length);
  }

  #named(file: string): string {
    const base = this.#path.slice(this.#path.lastIndexOf("/") + 1);
    const known = [this.#path, base].find((name) => file.startsWith(name));
    return known === undefined ? file : this.#name + file.slice(known.length);
  }
}

/** PostgreSQL knows no NUL in a text; half a pair of surrogates is no character either. */
function short(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed().replaceAll("\0", "\ufffd");
}
