/** Checksums as they lie beside files in the Maven layout, and whether they hold. Pure. */
import { Code, HoltError, invalidArgument } from "../../lib/errors.ts";
import type { Digests } from "../find-file.ts";
import type { Algorithm } from "./maven-path.ts";

const LENGTHS: Readonly<Record<Algorithm, number>> = { md5: 32, sha1: 40, sha256: 64, sha512: 128 };
/** Of a file with a checksum in it. */
export const MAX_CHECKSUM = 1024;

/** By itself, before the name of the file, or after it, as the usual programs write it. @throws INVALID_ARGUMENT */
export function parseChecksum(bytes: Buffer, algorithm: Algorithm): string {
  if (bytes.length > MAX_CHECKSUM) throw invalidArgument("checksum", `it is longer than ${MAX_CHECKSUM} bytes`);
  const words = bytes.toString("latin1").trim().toLowerCase().split(/\s+/);
  const isChecksum = (word: string | undefined) => word?.length === LENGTHS[algorithm] && /^[0-9a-f]+$/.test(word);
  const checksum = [words[0], words.at(-1)].find(isChecksum);
  if (checksum === undefined) throw invalidArgument("checksum", `it is no ${algorithm} in hexadecimal digits`);
  return checksum;
}

/** Hexadecimal. */
export function checksumOfFile({ digest, sha1, md5, sha512 }: Digests, algorithm: Algorithm): string {
  return { sha256: digest.slice("sha256:".length), sha1, md5, sha512 }[algorithm];
}

/** @param what said it. @throws INVALID_ARGUMENT unless it is the file's */
export function assertChecksum(said: string, file: Digests, algorithm: Algorithm, what: string = algorithm): void {
  const actual = checksumOfFile(file, algorithm);
  if (said !== actual)
    throw new HoltError(Code.INVALID_ARGUMENT, `Invalid argument: ${what} is "${said.slice(0, 128)}", and of the file that came ${actual}`);
}
