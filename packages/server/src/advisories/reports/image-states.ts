/** Which digest a tag named at the end of each day, as the history of tags says. A tag that was deleted stays what it was last. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { type DayRange, dayOfTime, startOfDay } from "./days.ts";

/** An image by its name. */
export interface ImageName {
  readonly repo_uid: string;
  readonly tag: string;
}

/** From the end of a day on, until the next state, the image is this. */
export interface ImageState {
  /** The first day of the range at the earliest, or the day before it. */
  readonly day: number;
  readonly digest: string;
}

const MAX_STATES = 20_000;

/** By the image's place in the list, in the order of days: the state on the day before the range, where there was one, and every one in the range. */
export async function readImageStates(images: readonly ImageName[], { first, last }: DayRange, db: ReadDb): Promise<ImageState[][]> {
  const wanted = images.map((image, index) => ({ index, ...image }));
  const [start, end] = [startOfDay(first), startOfDay(last + 1)];
  const { rows } = await sql<{ index: number; time: string; digest: string }>`
    with latest as materialized (
      select w."index", max(h.seq) as seq
      from ${db.dialect.rowsOf(wanted, { index: "bigint", repo_uid: "text", tag: "text" })} as w
      join tag_history as h on h.repo_uid = w.repo_uid and h.tag = w.tag
      where h.time < ${end} group by w."index", case when h.time < ${start} then '' else substr(h.time, 1, 10) end)
    select latest."index", h.time, h.digest from latest join tag_history as h on h.seq = latest.seq
    order by h.seq limit ${MAX_STATES + 1}`.execute(db);
  if (rows.length > MAX_STATES) throw resourceExhausted(`these tags moved on more than ${MAX_STATES} days: ask for fewer images or days`);
  const states: ImageState[][] = images.map(() => []);
  for (const { index, time, digest } of rows) {
    const before = states[Number(index)] ?? [];
    const state = { day: Math.max(dayOfTime(time), first - 1), digest };
    if (before.at(-1)?.digest !== digest) before.push(state);
  }
  return states;
}
