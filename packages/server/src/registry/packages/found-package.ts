/** A package as a database or an SBOM names it, and a check whether it can be stored. Pure. */

/** A row of `image_package` without its digest. */
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

/** An entry of a package database. Missing fields are empty strings. */
export interface DatabaseEntry {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly origin: string;
  /** Version of the source package, if it differs. */
  readonly originVersion: string;
  /** RPM's epoch, if it is not 0. */
  readonly epoch: string;
}

/**
 * A layer or document that cannot be read; the message is for people. The other layers and documents are still read.
 */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

const MAX_LENGTHS = { type: 32, name: 255, version: 255, architecture: 64, origin: 255, location: 255, source: 127, purl: 1023 } as const;
/** Control characters, the byte-order mark, and the replacement character, which stands for invalid UTF-8. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\ufeff\ufffd]/;

/** Whether the package has a name and version, and its strings fit the columns and are readable. */
export function isStorable(found: FoundPackage): boolean {
  if (found.type === "" || found.name === "" || found.version === "") return false;
  return Object.entries(MAX_LENGTHS).every(([field, max]) => {
    const value = found[field as keyof FoundPackage];
    return value.length <= max && value.isWellFormed() && !UNPRINTABLE.test(value);
  });
}
