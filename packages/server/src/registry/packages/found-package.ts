/** A package as a database or an SBOM names it, and what of that can be kept. Pure. */

/** A row of `image_package`, less whose it is. */
export interface FoundPackage {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly origin: string;
  readonly location: string;
  readonly source: string;
  readonly purl: string;
}

/** An entry of a package database, as it stands there. What is empty was not said. */
export interface DatabaseEntry {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly origin: string;
  /** Of RPM, where it is not 0. */
  readonly epoch: string;
}

/** What cannot be read, for people. It ends the reading of that layer or document, and nothing else. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

const MAX_LENGTHS = { type: 32, name: 255, version: 255, architecture: 64, origin: 255, location: 255, source: 127, purl: 1023 } as const;
/** Controls, the byte-order mark and what stands for bytes that are no text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const TRASH = /[\u0000-\u001f\u007f-\u009f\ufeff\ufffd]/;

/** Whether a database can keep it, and a person read it. */
export function isKeepable(found: FoundPackage): boolean {
  if (found.type === "" || found.name === "" || found.version === "") return false;
  return Object.entries(MAX_LENGTHS).every(([field, max]) => {
    const value = found[field as keyof FoundPackage];
    return value.length <= max && value.isWellFormed() && !TRASH.test(value);
  });
}
