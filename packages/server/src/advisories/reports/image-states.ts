/**
 * Reads which digest a tag pointed to at the end of each day, from the tag history. A deleted tag keeps its last
 * digest.
 */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { type DayRange, dayOfTime, startOfDay } from "./days.ts";

/** A tag of a repo. */
export interface ImageName {
  readonly repo_uid: string;
  readonly tag: string;
}

/** The digest of a tag from the end of a day until the next state. */
export interface ImageState {
  /** A day of the range, or the day before it. */
  readonly day: number;
  readonly digest: string;
}

const MAX_STATES = 20_000;

/**
 * The states of each image, in the order of the images and days: that of the day before the range, if any, and all in
 * the range.
 */
export async function readImageStates(images: readonly ImageName[], { first, last }: DayRange, db: ReadDb): Promise<ImageState[][]> {
  const wanted = images.map((image, index) => ({ index, ...image }));
  const start = startOfDay(first);
  const end = startOfDay(last + 1);
  const { rows } = await sql<{ index: number; time: string; digest: string }>`
    with latest as materialized (
      select w."index", max(h.seq) as seq
      from ${db.dialect.rowsOf(wanted, { index: "bigint", repo_uid: "text", tag: "text" })} as w
      join tag_history as h on h.repo_uid = w.repo_uid and h.tag = w.tag
      where h.time < ${end} group by w."index", case when h.time < ${start} then '' else substr(h.time, 1, 10) end)
    select latest."index", h.time, h.digest from latest join tag_history as h on h.seq = latest.seq
    order by h.seq limit ${MAX_STATES + 1}`.execute(db);
  if (rows.length > MAX_STATES) throw resourceExhausted(`these tags moved on more than ${MAX_STATES} days; request fewer images or days`);
  const states: ImageState[][] = images.map(() => []);
  for (const { index, time, digest } of rows) {
    const before = states[Number(index)] ?? [];
    const state = { day: Math.max(dayOfTime(time), first - 1), digest };
    if (before.at(-1)?.digest !== digest) before.push(state);
  }
  return states;
}
