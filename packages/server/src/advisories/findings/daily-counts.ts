/** Counts the vulnerabilities of a tag by severity at the end of each day. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";
import { type DayRange, dayOfTime, startOfDay } from "../reports/days.ts";
import { readImageSources } from "../reports/image-sources.ts";
import { type ImageName, type ImageState, readImageStates } from "../reports/image-states.ts";
import type { SeverityNumber } from "./finding.ts";
import { type ImageFinding, readImageFindings } from "./image-findings.ts";
import { namesOfRepo } from "./repo-names.ts";
import { applyStatements } from "./statements.ts";

/** The vulnerabilities of a tag at the end of a day. */
export interface DailyCount {
  readonly image: ImageName;
  /** Days since 1970-01-01. */
  readonly day: number;
  readonly digest: string;
  /** Bytes of the image; 0 if it was deleted. For an index, of its largest image. */
  readonly size: number;
  /** By vulnerability. */
  readonly severities: ReadonlyMap<string, SeverityNumber>;
}

export interface CountQuery {
  readonly images: readonly ImageName[];
  readonly range: DayRange;
  readonly now: Date;
  /** Whether a day includes the vulnerabilities of the days before it in the range. */
  readonly isCumulative: boolean;
}

/** By image in the order given, then by day. Days on whose end the tag did not exist are left out. */
export async function countByDay(db: ReadDb, { images, range, now, isCumulative }: CountQuery): Promise<DailyCount[]> {
  const last = Math.min(range.last, dayOfTime(now.toISOString()));
  const states = last < range.first ? images.map(() => []) : await readImageStates(images, { first: range.first, last }, db);
  const counts: DailyCount[] = [];
  for (const [index, image] of images.entries()) {
    const ofImage = states[index] ?? [];
    const findings = await readHistories(db, image.repo_uid, ofImage, startOfDay(range.first));
    const sizes = await readSizes(db, image.repo_uid, ofImage);
    let before: ReadonlyMap<string, SeverityNumber> = new Map();
    for (let day = range.first; day <= last; day++) {
      const state = ofImage.findLast((each) => each.day <= day);
      if (state === undefined) continue;
      const open = openAt(findings.get(state.digest) ?? [], startOfDay(day + 1));
      const severities = isCumulative ? mergeSeverities(before, open) : open;
      counts.push({ image, day, digest: state.digest, size: sizes.get(state.digest) ?? 0, severities });
      before = severities;
    }
  }
  return counts;
}

/** All findings since a time of each digest that the tag pointed to. */
async function readHistories(
  db: ReadDb,
  repoUid: string,
  states: readonly ImageState[],
  since: string,
): Promise<Map<string, ImageFinding[]>> {
  const digests = [...new Set(states.map(({ digest }) => digest))];
  const sources = await readImageSources(
    digests.map((digest) => ({ repo_uid: repoUid, digest })),
    db,
  );
  const orgUid = rootOf(repoUid);
  const names = await namesOfRepo(db, repoUid);
  const histories = new Map<string, ImageFinding[]>();
  for (const [index, digest] of digests.entries()) {
    const found = await readImageFindings(db, { orgUid, digests: [digest, ...(sources[index] ?? [])], since });
    const stated = await applyStatements(db, found, { orgUid, names });
    histories.set(
      digest,
      stated.filter(({ detail }) => detail.suppression === undefined),
    );
  }
  return histories;
}

/** The highest severity of each vulnerability that is open at the time. */
function openAt(findings: readonly ImageFinding[], time: string): Map<string, SeverityNumber> {
  const open = new Map<string, SeverityNumber>();
  for (const { vulnerability, severity, openTime, closeTime } of findings) {
    if (openTime >= time || (closeTime !== undefined && closeTime < time)) continue;
    if (severity > (open.get(vulnerability) ?? 0)) open.set(vulnerability, severity);
  }
  return open;
}

/** The latest severity of each. */
function mergeSeverities(
  before: ReadonlyMap<string, SeverityNumber>,
  now: ReadonlyMap<string, SeverityNumber>,
): ReadonlyMap<string, SeverityNumber> {
  return new Map([...before, ...now]);
}

async function readSizes(db: ReadDb, repoUid: string, states: readonly ImageState[]): Promise<ReadonlyMap<string, number>> {
  const digests = db.dialect.valuesOf([...new Set(states.map(({ digest }) => digest))]);
  const { rows } = await sql<{ digest: string; size: number }>`
    select i.digest, max(i.size) as size from image as i where i.repo_uid = ${repoUid}
      and i.digest in (select v.value from ${digests} as v) group by i.digest`.execute(db);
  return new Map(rows.map(({ digest, size }) => [digest, Number(size)]));
}
