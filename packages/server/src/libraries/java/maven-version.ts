/** Classifies Maven versions; `lib/version-order/maven.ts` sorts them. Pure. */

const SNAPSHOT = "-SNAPSHOT";
const MAX_VERSION = 128;
const PRE_RELEASE = /(?:^|[.\-\d])(?:alpha|beta|milestone|rc|cr|snapshot|[abm](?=\d))(?=$|[.\-\d])/i;

/** Stricter than Maven: a version must also work as the name of a folder. */
export function isMavenVersion(text: string): boolean {
  return text.length <= MAX_VERSION && /^[A-Za-z0-9][\w.+~-]*$/.test(text) && text !== "maven-metadata.xml";
}

/** The folder of a snapshot holds builds, each with a time and a number. */
export function isSnapshot(version: string): boolean {
  return version.endsWith(SNAPSHOT);
}

/** The prefix of the names of builds: `1.0-` for `1.0-SNAPSHOT`. */
export function snapshotBase(version: string): string {
  return version.slice(0, 1 - SNAPSHOT.length);
}

/** Snapshots, and versions with a qualifier that sorts before the release. */
export function isMavenPreRelease(version: string): boolean {
  return PRE_RELEASE.test(version);
}

/** With the labels `holt` and `remediated`, `1.0-holt-2` and `1.0+remediated1` are remediated. */
export function isRemediatedMavenVersion(version: string, labels: readonly string[]): boolean {
  const [, ...qualifiers] = version.toLowerCase().split(/[.+_-]/);
  return qualifiers.some((qualifier) => labels.includes(qualifier.replace(/\d+$/, "")));
}
