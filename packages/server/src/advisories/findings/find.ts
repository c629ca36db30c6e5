/** Finds the vulnerabilities of one package among the advisories that may be about it. Pure. */

import { rootOf } from "../../lib/uid.ts";
import { cvss2BaseScore, cvss3BaseScore, type Severity, severityOf } from "../export/cvss-score.ts";
import type { PublishedAdvisory } from "../export/published-advisory.ts";
import { type Assessment, assess, type Candidate } from "./assessment.ts";
import {
  type ComparedPackage,
  type CvssScore,
  type Finding,
  type FindingDetail,
  type FixState,
  SEVERITY,
  type SeverityNumber,
  type Suppression,
} from "./finding.ts";

/** A finding before its scores are known. */
export interface Unscored {
  readonly vulnerability: string;
  readonly detail: Omit<FindingDetail, "cvss">;
}

/** An assessment, and the advisory that makes it. */
interface NamedAssessment {
  readonly advisory: NamedAdvisory;
  readonly assessment: Assessment;
}

/** Without events and ranges, so that assessments take little memory. */
type NamedAdvisory = Pick<PublishedAdvisory, "uid" | "advisoryId" | "aliases">;

/** How advisories assess a package, by vulnerability. */
export type Assessments = Map<string, NamedAssessment[]>;

/** Adds how this advisory assesses the package. A package can have thousands of advisories, so callers pass them one by one. */
export function collectAssessments(given: ComparedPackage, candidate: Candidate, assessments: Assessments): void {
  const assessment = assess(candidate, given);
  if (assessment === undefined) return;
  const { uid, advisoryId, aliases } = candidate.advisory;
  const advisory = { uid, advisoryId, aliases };
  for (const id of vulnerabilitiesOf(advisory)) addAssessments(assessments, id, [{ advisory, assessment }]);
}

/** Joins assessments of one package, those of the first map before those of the next. */
export function joinAssessments(all: readonly Assessments[]): Assessments {
  const joined: Assessments = new Map();
  for (const assessments of all) for (const [id, more] of assessments) addAssessments(joined, id, more);
  return joined;
}

function addAssessments(assessments: Assessments, id: string, more: readonly NamedAssessment[]): void {
  const known = assessments.get(id);
  if (known === undefined) assessments.set(id, [...more]);
  else for (const one of more) known.push(one);
}

/**
 * Sorted by vulnerability. Undefined is a part of the work without a finding, so that callers can let others run.
 * @param orgUid the organization of the images; its own statements decide before those of public organizations
 */
export function* findingsOf(assessments: Assessments, orgUid: string): Generator<Unscored | undefined> {
  yield* joinAliases(assessments);
  for (const id of [...assessments.keys()].sort()) yield findingOf(id, assessments.get(id) ?? [], orgUid);
}

/** The CVEs of an advisory, or else its GHSA or its own id: one advisory can be about several CVEs. */
function vulnerabilitiesOf(advisory: NamedAdvisory): readonly string[] {
  const ids = [...new Set([advisory.advisoryId, ...advisory.aliases])];
  const cves = ids.filter((id) => id.startsWith("CVE-"));
  return cves.length > 0 ? cves : [ids.find((id) => id.startsWith("GHSA-")) ?? advisory.advisoryId];
}

/** Vulnerabilities are named by the first kind of id that they have. */
const PREFERRED = ["CVE-", "GHSA-"];

/** Moves what is known under another id to the CVE with that alias, and what is left to a GHSA with that alias. */
function* joinAliases(assessments: Assessments): Generator<undefined> {
  for (const prefix of PREFERRED) {
    for (const [id, list] of [...assessments]) {
      yield;
      // The id may have been moved meanwhile.
      if (id.startsWith(prefix) && assessments.has(id)) moveAliases(assessments, id, list);
    }
  }
}

/** Moved assessments may have aliases of their own, so the list grows while it is read. */
function moveAliases(assessments: Assessments, id: string, list: NamedAssessment[]): void {
  for (const { advisory } of list) {
    for (const alias of [advisory.advisoryId, ...advisory.aliases]) {
      const other = preferenceOf(alias) > preferenceOf(id) ? assessments.get(alias) : undefined;
      if (other === undefined) continue;
      for (const one of other) list.push(one);
      assessments.delete(alias);
    }
  }
}

/** Lower is better. */
function preferenceOf(id: string): number {
  const index = PREFERRED.findIndex((prefix) => id.startsWith(prefix));
  return index < 0 ? PREFERRED.length : index;
}

function findingOf(vulnerability: string, assessments: readonly NamedAssessment[], orgUid: string): Unscored | undefined {
  const affected = assessments.filter(({ assessment }) => assessment.kind === "affected" || assessment.wouldMatch);
  if (affected.length === 0) return undefined;
  const suppression = suppressionOf(assessments, orgUid);
  const ids = [...new Set(assessments.flatMap(({ advisory }) => [advisory.advisoryId, ...advisory.aliases]))].sort();
  const matches = affected.flatMap(({ assessment }) => (assessment.kind === "affected" ? [assessment] : []));
  return {
    vulnerability,
    detail: {
      advisories: beginningOf(
        affected.map(({ advisory }) => ({ uid: advisory.uid, id: advisory.advisoryId })),
        ({ uid, id }) => uid + id,
      ),
      aliases: beginningOf(ids.filter((id) => id !== vulnerability)),
      fixState: strongest(matches.map(({ fixState }) => fixState)),
      fixed: beginningOf([...new Set(matches.flatMap(({ fixed }) => fixed))].sort()),
      ...(suppression !== undefined && { suppression }),
    },
  };
}

/** Characters that a finding keeps of each list. Advisories can name each other's vulnerabilities, and then each finding lists all. */
const MAX_LIST_TEXT = 4096;

/** The first elements of a list, as many as fit. */
function beginningOf<T>(list: readonly T[], textOf: (element: T) => string = String): T[] {
  let length = 0;
  return list.filter((element) => {
    length += textOf(element).length;
    return length <= MAX_LIST_TEXT;
  });
}

/** @param cvssOf scores of the public record of a vulnerability */
export function withScores({ vulnerability, detail }: Unscored, cvssOf: (id: string) => readonly CvssScore[]): Finding {
  const own = cvssOf(vulnerability);
  // An advisory about several CVEs has the aliases of all.
  const cvss = own.length > 0 ? own : detail.aliases.filter((id) => !id.startsWith("CVE-")).flatMap((id) => cvssOf(id));
  const { suppression, ...rest } = detail;
  const scored = {
    ...rest,
    cvss: beginningOf(uniqueScores(cvss), ({ score }) => score),
    ...(suppression !== undefined && { suppression }),
  };
  return { vulnerability, severity: severityOfScores(cvss), detail: scored };
}

const FIX_STATES: readonly FixState[] = ["fixed", "wont_fix", "not_fixed", "unknown"];

function strongest(states: readonly FixState[]): FixState {
  return FIX_STATES.find((state) => states.includes(state)) ?? "unknown";
}

/** A statement of the organization holds; one of a public organization holds unless an own advisory says otherwise. */
function suppressionOf(assessments: readonly NamedAssessment[], orgUid: string): Suppression | undefined {
  const own = assessments.filter(({ advisory }) => rootOf(advisory.uid) === orgUid);
  const statement =
    own.find(isStatement) ?? (own.some(({ assessment }) => assessment.kind === "affected") ? undefined : assessments.find(isNotAffected));
  if (statement === undefined || statement.assessment.kind === "affected") return undefined;
  const { advisory, assessment } = statement;
  return { status: assessment.kind, justification: assessment.justification, note: assessment.note, advisory: advisory.uid };
}

function isNotAffected({ assessment }: NamedAssessment): boolean {
  return assessment.kind === "not_affected";
}

function isStatement({ assessment }: NamedAssessment): boolean {
  return assessment.kind !== "affected";
}

function uniqueScores(scores: readonly CvssScore[]): readonly CvssScore[] {
  return [...new Map(scores.map((score) => [score.score, score])).values()];
}

const severities: Readonly<Record<Severity, SeverityNumber>> = {
  NONE: SEVERITY.negligible,
  LOW: SEVERITY.low,
  MEDIUM: SEVERITY.medium,
  HIGH: SEVERITY.high,
  CRITICAL: SEVERITY.critical,
};

/** By the highest score of version 3, or else of version 2. Version 4 has no formula and does not count. */
export function severityOfScores(scores: readonly CvssScore[]): SeverityNumber {
  const scored = (type: string, compute: (vector: string) => number) =>
    scores.filter((score) => score.type === type).map(({ score }) => severities[severityOf(compute(score))]);
  const third = scored("TYPE_CVSS_V3", cvss3BaseScore);
  const all = third.length > 0 ? third : scored("TYPE_CVSS_V2", cvss2BaseScore);
  return all.length === 0 ? SEVERITY.unknown : (Math.max(...all) as SeverityNumber);
}
