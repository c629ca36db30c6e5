/** Maps advisory ids to ids that the OSV schema accepts, and back. Pure. */

/** Databases whose prefixes are registered in the OSV schema, "id, modified fields". */
const REGISTERED = new RegExp(
  `^(?:${[
    ...["ALBA", "ALEA", "ALPINE", "ALSA", "ASB-A", "AZL", "BELL", "BIT", "CGA", "CLEANSTART", "CLSA", "CURL", "CVE"],
    ...["DEBIAN", "DHI", "DLA", "DRUPAL", "DSA", "DTSA", "ECHO", "EEF", "ELA", "FreeBSD", "GHSA", "GO", "GSD", "HSEC"],
    ...["JLSEC", "KUBE", "LBSEC", "LSN", "MAL", "MGASA", "MINI", "OESA", "OSEC", "OSV", "PHSA", "PSF", "PUB-A", "PYSEC"],
    ...["RHBA", "RHEA", "RHSA", "RLSA", "ROOT", "RSEC", "RUSTSEC", "RXSA", "SUSE-[SRFO]U", "UBUNTU", "USN", "V8", "openSUSE-SU"],
  ].join("|")})-`,
);
/** Marks an id without a registered prefix. */
const UNREGISTERED = "x_";

/** No two advisory ids have the same OSV id. */
export function osvIdOf(advisoryId: string): string {
  return REGISTERED.test(advisoryId) ? advisoryId : UNREGISTERED + advisoryId;
}

export function advisoryIdFromOsv(osvId: string): string {
  return osvId.length > UNREGISTERED.length && osvId.startsWith(UNREGISTERED) ? osvId.slice(UNREGISTERED.length) : osvId;
}
