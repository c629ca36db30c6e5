/** Reads in-toto statements, which say something about images by their digest. Pure. */
import { type Json, recordOf, recordsOf } from "../lib/is-record.ts";

/** @param digest of an image, such as `sha256:…` */
export function isAbout({ subject }: Json, digest: string): boolean {
  const [algorithm = "", hex] = digest.split(":");
  return recordsOf(subject).some((each) => recordOf(each.digest)?.[algorithm] === hex);
}
