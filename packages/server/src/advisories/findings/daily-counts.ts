/** Counts the vulnerabilities of a tag by severity at the end of each day. */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { Code, HoltError, resourceExhausted } from "../../lib/errors.ts";
import { type DayRange, dayOfTime, startOfDay } from "../reports/days.ts";
import { type ImageName, type ImageState, readImageStates } from "../reports/image-states.ts";
import type { SeverityNumber } from "./finding.ts";
import { Histories, type OpenPeriod } from "./histories.ts";

/** Vulnerability ids of one count, and of all counts of an answer that lists them. */
export const MAX_COUNTED_IDS = 200_000;

/** The vulnerabilities of a tag at the end of a day. */
export interface DailyCount {
  readonly image: ImageName;
  /** Days since 1970-01-01. */
  readonly day: number;
  readonly digest: string;
  /** Bytes of the image; 0 if it was deleted. For an index, of its largest image. */
  readonly size: number;
  /** By vulnerability. Valid until the next count is read. */
  readonly severities: ReadonlyMap<string, SeverityNumber>;
}

export interface CountQuery {
  readonly images: readonly ImageName[];
  readonly range: DayRange;
  readonly now: Date;
  /** Whether a day includes the vulnerabilities of the days before it in the range. */
  readonly isCumulative: boolean;
  /** Ends the counting. */
  readonly signal: AbortSignal;
}

/**
 * By image in the order given, then by day. Days on whose end the tag did not exist are left out.
 * @throws RESOURCE_EXHAUSTED if a count has more than MAX_COUNTED_IDS vulnerabilities
 */
export async function* countByDay(db: ReadDb, query: CountQuery): AsyncGenerator<DailyCount> {
  const { images, range, now } = query;
  const last = Math.min(range.last, dayOfTime(now.toISOString()));
  if (last < range.first) return;
  const states = await readImageStates(images, { first: range.first, last }, db);
  const histories = new Histories(db, startOfDay(range.first));
  for (const [index, image] of images.entries()) {
    const ofImage = states[index] ?? [];
    const sizes = await readSizes(db, image.repo_uid, ofImage);
    let severities = new Map<string, SeverityNumber>();
    for (let day = range.first; day <= last; day++) {
      const state = ofImage.findLast((each) => each.day <= day);
      if (state === undefined) continue;
      await pause(query.signal);
      const open = openAt(await histories.of(image.repo_uid, state.digest), startOfDay(day + 1));
      severities = query.isCumulative ? addSeverities(severities, open) : open;
      yield { image, day, digest: state.digest, size: sizes.get(state.digest) ?? 0, severities };
    }
  }
}

/** Lets other calls run, as the count of a day may have many findings. */
async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  if (signal.aborted) throw new HoltError(Code.CANCELLED, "The caller disconnected");
}

/** The highest severity of each vulnerability that is open at the time. */
function openAt(findings: readonly OpenPeriod[], time: string): Map<string, SeverityNumber> {
  const open = new Map<string, SeverityNumber>();
  for (const { vulnerability, severity, openTime, closeTime } of findings) {
    if (openTime >= time || (closeTime !== undefined && closeTime < time)) continue;
    if (severity > (open.get(vulnerability) ?? 0)) open.set(vulnerability, severity);
  }
  return open;
}

/** Adds the later severity of each. @returns the first map */
function addSeverities(before: Map<string, SeverityNumber>, now: ReadonlyMap<string, SeverityNumber>): Map<string, SeverityNumber> {
  for (const [vulnerability, severity] of now) before.set(vulnerability, severity);
  if (before.size > MAX_COUNTED_IDS)
    throw resourceExhausted(`these days have more than ${MAX_COUNTED_IDS} vulnerabilities; request fewer days`);
  return before;
}

async function readSizes(db: ReadDb, repoUid: string, states: readonly ImageState[]): Promise<ReadonlyMap<string, number>> {
  const digests = db.dialect.valuesOf([...new Set(states.map(({ digest }) => digest))]);
  const { rows } = await sql<{ digest: string; size: number }>`
    select i.digest, max(i.size) as size from image as i where i.repo_uid = ${repoUid}
      and i.digest in (select v.value from ${digests} as v) group by i.digest`.execute(db);
  return new Map(rows.map(({ digest, size }) => [digest, Number(size)]));
}
