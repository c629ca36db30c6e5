/** What a Maven version says of itself, beside where it sorts. Pure. */

const SNAPSHOT = "-SNAPSHOT";
const MAX_VERSION = 128;
const PRE_RELEASE = /(?:^|[.\-\d])(?:alpha|beta|milestone|rc|cr|snapshot|[abm](?=\d))(?=$|[.\-\d])/i;

/** Maven refuses less; what it refuses and file systems stumble over is refused here. */
export function isMavenVersion(text: string): boolean {
  return text.length <= MAX_VERSION && /^[A-Za-z0-9][\w.+~-]*$/.test(text) && text !== "maven-metadata.xml";
}

/** A folder of builds, each with its time and number. */
export function isSnapshot(version: string): boolean {
  return version.endsWith(SNAPSHOT);
}

/** `1.0-` of `1.0-SNAPSHOT`: what the names of its builds begin with. */
export function snapshotBase(version: string): string {
  return version.slice(0, 1 - SNAPSHOT.length);
}

/** Snapshots, and the qualifiers that sort before the release. */
export function isMavenPreRelease(version: string): boolean {
  return PRE_RELEASE.test(version);
}

/** `1.0-holt-2` or `1.0+remediated1`, for the labels `holt` and `remediated`. */
export function isRemediatedMavenVersion(version: string, labels: readonly string[]): boolean {
  const [, ...qualifiers] = version.toLowerCase().split(/[.+_-]/);
  return qualifiers.some((qualifier) => labels.includes(qualifier.replace(/\d+$/, "")));
}
