/** A vulnerability that is open or suppressed in a package of an image. Plain data. */

/** Severity of holt.v1. */
export const SEVERITY = { unknown: 1, negligible: 2, low: 3, medium: 4, high: 5, critical: 6 } as const;
export type SeverityNumber = (typeof SEVERITY)[keyof typeof SEVERITY];

export type FixState = "unknown" | "fixed" | "not_fixed" | "wont_fix";

/** Why a finding is suppressed. */
export interface Suppression {
  /** `not_affected` or `fixed`, as in VEX. */
  readonly status: "not_affected" | "fixed";
  /** Justification of OpenVEX; the empty string if there is none. */
  readonly justification: string;
  readonly note: string;
  /** Uid of the advisory that says so. */
  readonly advisory: string;
}

export interface CvssScore {
  /** Name of Severity.Type of version 2 of the API, such as `TYPE_CVSS_V3`. */
  readonly type: string;
  readonly score: string;
}

/** The column `detail` of `finding`. */
export interface FindingDetail {
  /** The advisories that say that the package is affected. */
  readonly advisories: readonly { readonly uid: string; readonly id: string }[];
  readonly aliases: readonly string[];
  readonly fixState: FixState;
  /** Sorted by text. */
  readonly fixed: readonly string[];
  readonly cvss: readonly CvssScore[];
  readonly suppression?: Suppression;
}

export interface Finding {
  readonly vulnerability: string;
  readonly severity: SeverityNumber;
  readonly detail: FindingDetail;
}

/** A package with what decides whether a version is affected. */
export interface ComparedPackage {
  /** Type of package URL. */
  readonly type: string;
  readonly version: string;
  /** `id version`; empty if unknown. */
  readonly distribution: string;
}
