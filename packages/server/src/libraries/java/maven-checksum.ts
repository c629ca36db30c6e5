/** Parses and compares the checksum files of the Maven layout. Pure. */
import { Code, HoltError, invalidArgument } from "../../lib/errors.ts";
import type { Digests } from "../find-file.ts";
import type { Algorithm } from "./maven-path.ts";

const LENGTHS: Readonly<Record<Algorithm, number>> = { md5: 32, sha1: 40, sha256: 64, sha512: 128 };
/** The size of a checksum file, in bytes. */
export const MAX_CHECKSUM = 1024;

/** Tools write the checksum alone, before the name of the file, or after it. @throws INVALID_ARGUMENT */
export function parseChecksum(bytes: Buffer, algorithm: Algorithm): string {
  if (bytes.length > MAX_CHECKSUM) throw invalidArgument("checksum", `a checksum file has at most ${MAX_CHECKSUM} bytes`);
  const words = bytes.toString("latin1").trim().toLowerCase().split(/\s+/);
  const isChecksum = (word: string | undefined) => word?.length === LENGTHS[algorithm] && /^[0-9a-f]+$/.test(word);
  const checksum = [words[0], words.at(-1)].find(isChecksum);
  if (checksum === undefined) throw invalidArgument("checksum", `not a hexadecimal ${algorithm}`);
  return checksum;
}

/** Hexadecimal. */
export function checksumOfFile({ digest, sha1, md5, sha512 }: Digests, algorithm: Algorithm): string {
  return { sha256: digest.slice("sha256:".length), sha1, md5, sha512 }[algorithm];
}

/** @param source names the checksum in the error. @throws INVALID_ARGUMENT if the file has another checksum */
export function assertChecksum(expected: string, file: Digests, algorithm: Algorithm, source: string = algorithm): void {
  const actual = checksumOfFile(file, algorithm);
  if (expected !== actual)
    throw new HoltError(
      Code.INVALID_ARGUMENT,
      `Invalid argument: ${source} is "${expected.slice(0, 128)}", but the received file has ${actual}`,
    );
}
