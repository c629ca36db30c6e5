/** Decides how one advisory affects one version of a package. Pure. */
import { isAtMost } from "../../lib/version-order/compare.ts";
import type { PublishedAdvisory, PublishedEvent } from "../export/published-advisory.ts";
import { justificationOf } from "../export/vex-status.ts";
import { type Affected, fixesFor, NEVER_AFFECTED_NOTE, prepareFixes } from "../model/affected.ts";
import { appliesTo, idOf, isDistribution } from "./distributions.ts";
import type { ComparedPackage, FixState } from "./finding.ts";

/** An advisory that may be about a package. Only its approved events count. */
export interface Candidate {
  readonly advisory: PublishedAdvisory;
  /** Ranges of an imported record; undefined if only the events tell which versions are affected. */
  readonly affected: { readonly entries: readonly Affected[]; readonly modifiedTime: string } | undefined;
  /** The distribution that a group above the advisory is named after. */
  readonly distribution: string | undefined;
}

/** How an advisory assesses a version of a package: the status of a VEX statement, with its details. */
export type Assessment =
  | { readonly kind: "affected"; readonly fixed: readonly string[]; readonly fixState: FixState }
  | {
      readonly kind: "fixed" | "not_affected";
      /** The empty string if there is none. */
      readonly justification: string;
      readonly note: string;
      /** Whether the version would be affected without the statement. */
      readonly wouldMatch: boolean;
    };

/** @returns undefined if the advisory says nothing about the version */
export function assess(candidate: Candidate, given: ComparedPackage): Assessment | undefined {
  const { advisory, affected, distribution } = candidate;
  const id = idOf(given.distribution);
  if (distribution !== undefined && affected === undefined && id !== "" && !isDistribution(distribution, id)) return undefined;
  const assessment = affected === undefined ? assessByEvents(advisory, given) : assessByRanges(advisory, affected, given);
  const { latest } = advisory;
  const isStatement = latest.kind === "falsePositiveDetermination" && (affected === undefined || latest.note !== NEVER_AFFECTED_NOTE);
  if (!isStatement) return assessment;
  return {
    kind: "not_affected",
    justification: justificationOf(latest) ?? "",
    note: latest.note,
    wouldMatch: assessment?.kind === "affected",
  };
}

/** Prepares `assess` in parts, so that callers can let others run. */
export function* prepareAssessment({ affected }: Candidate, given: ComparedPackage): Generator<undefined> {
  for (const entry of entriesFor(affected?.entries ?? [], given)) yield* prepareFixes(given.type, entry);
}

function entriesFor(entries: readonly Affected[], { type, distribution }: ComparedPackage): readonly Affected[] {
  return isOfDistributions(type) ? entries.filter(({ ecosystem }) => appliesTo(ecosystem, distribution)) : entries;
}

function assessByRanges(
  advisory: PublishedAdvisory,
  { entries, modifiedTime }: NonNullable<Candidate["affected"]>,
  given: ComparedPackage,
): Assessment | undefined {
  const { type, version } = given;
  const hits = entriesFor(entries, given);
  const fixes = hits.map((entry) => fixesFor(type, version, entry)).filter((found) => found !== undefined);
  if (fixes.length === 0) return undefined;
  // The ranges contain the fixes that an import added as events.
  const later = advisory.events.filter(({ time }) => time > modifiedTime);
  const statement = fixIn(later, type, version);
  if (statement !== undefined) return { ...fixedBy(statement), wouldMatch: true };
  return { kind: "affected", fixed: fixes.flat(), fixState: fixStateOf(advisory.latest, fixes.flat()) };
}

function assessByEvents({ events, latest }: PublishedAdvisory, { type, version }: ComparedPackage): Assessment | undefined {
  const statement = fixIn(events, type, version);
  if (statement !== undefined) return fixedBy(statement);
  const all = events.filter(({ kind }) => kind === "fixed").flatMap(({ versions }) => versions);
  const fixed = all.filter((fix) => isSameRelease(type, fix, version));
  // The fixes are those of other releases of the distribution.
  if (all.length > 0 && fixed.length === 0) return undefined;
  const says = events.some(({ kind }) => kind !== "falsePositiveDetermination");
  return says ? { kind: "affected", fixed, fixState: fixStateOf(latest, fixed) } : undefined;
}

/** The statement that fixes this version. Versions that cannot be compared are compared for equality. */
function fixIn(events: readonly PublishedEvent[], type: string, version: string): PublishedEvent | undefined {
  return events.find(({ kind, versions }) => {
    if (kind === "patched") return versions.includes(version);
    return kind === "fixed" && versions.some((each) => isSameRelease(type, each, version) && isAtMost(type, each, version));
  });
}

function fixedBy({ note }: PublishedEvent): Assessment & { readonly kind: "fixed" | "not_affected" } {
  return { kind: "fixed", justification: "", note, wouldMatch: false };
}

const RPM_RELEASE = /\.(?:el|fc|amzn|cm|azl|ph|mga)\d+/;

/** A fix in one release of an RPM distribution says nothing about packages of another. */
function isSameRelease(type: string, fixed: string, version: string): boolean {
  if (type !== "rpm") return true;
  const one = RPM_RELEASE.exec(fixed)?.[0];
  const other = RPM_RELEASE.exec(version)?.[0];
  return one === undefined || other === undefined || one === other;
}

function fixStateOf({ kind }: PublishedEvent, fixed: readonly string[]): FixState {
  if (fixed.length > 0) return "fixed";
  if (kind === "fixNotPlanned" || kind === "analysisNotPlanned") return "wont_fix";
  return kind === "detection" ? "unknown" : "not_fixed";
}

function isOfDistributions(type: string): boolean {
  return type === "apk" || type === "deb" || type === "rpm";
}
