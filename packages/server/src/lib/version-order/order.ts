/** The order of an ecosystem's versions. A version is read once and then compared with others. */

export interface VersionOrder<Version> {
  /** Undefined for an invalid version. */
  parse(text: string): Version | undefined;
  /** Negative if a comes before b, 0 if they are equal, positive if a comes after b. */
  compare(a: Version, b: Version): number;
}
