/** The problems of a running import: all are counted, the first ones are kept, shortened. */
import type { ImportProblem } from "../import-options.ts";
import type { NumberedProblem } from "./import-queue.ts";
import { MAX_PROBLEMS } from "./import-row.ts";

const MAX_LENGTH = 300;

export class ProblemList {
  #path = "";
  readonly #name: string;
  #unsaved: NumberedProblem[] = [];
  #count = 0;

  /** @param name the sender's name of the file */
  constructor(name: string) {
    this.#name = name;
  }

  /** @param path of the staged file, which problems must not contain */
  hide(path: string): void {
    this.#path = path;
  }

  get count(): number {
    return this.#count;
  }

  add({ file, position, reason }: ImportProblem): void {
    const number = this.#count++;
    if (number >= MAX_PROBLEMS) return;
    this.#unsaved.push({ number, file: short(this.#named(file)), position: short(position), reason: short(reason) });
  }

  /** The kept problems since the last `forget`. */
  unsaved(): readonly NumberedProblem[] {
    return [...this.#unsaved];
  }

  /** @param saved problems that `unsaved` returned and that are stored now */
  forget(saved: readonly NumberedProblem[]): void {
    this.#unsaved = this.#unsaved.slice(saved.length);
  }

  #named(file: string): string {
    const base = this.#path.slice(this.#path.lastIndexOf("/") + 1);
    const known = [this.#path, base].find((name) => name !== "" && file.startsWith(name));
    return known === undefined ? file : this.#name + file.slice(known.length);
  }
}

/** PostgreSQL rejects NUL in a string, and half a pair of surrogates is not a character. */
function short(text: string): string {
  return text.slice(0, MAX_LENGTH).toWellFormed().replaceAll("\0", "\ufffd");
}
