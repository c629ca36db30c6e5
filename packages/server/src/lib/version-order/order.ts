/** What an ecosystem knows about its versions: how to read one, and how to compare two that were read. */

export interface VersionOrder<Version> {
  /** Undefined for an invalid version. */
  parse(text: string): Version | undefined;
  /** Negative if a comes before b, 0 if they are equal, positive if a comes after b. */
  compare(a: Version, b: Version): number;
}
