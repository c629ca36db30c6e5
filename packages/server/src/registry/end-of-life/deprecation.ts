/** Shows tags as deprecated once their end of life is over. What is stored is the mark that the owner set by hand. */
import { EndOfLife_State as State } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import { uidOfBody } from "../../api/resource/uid-of-body.ts";
import type { ReadDb } from "../../db/store.ts";
import { parentOf, type UidRange } from "../../lib/uid.ts";
import { hasDates, type Life, livesOf } from "./lives.ts";

export function hasEnded(life: Life | undefined): boolean {
  return life?.endOfLife.state === State.ENDED;
}

/** @param bodies of tags, as stored @returns the same with `deprecated` as clients see it */
export async function showDeprecation(bodies: readonly string[], moment: { db: ReadDb; now: Date }): Promise<readonly string[]> {
  const lives = await livesOf(bodies.map(uidOfBody), moment);
  if (lives.size === 0) return bodies;
  // The preceding values, which are uid, name, digest and a time, contain no quotation mark.
  return bodies.map((body) => (hasEnded(lives.get(uidOfBody(body))) ? body.replace('"deprecated":false', '"deprecated":true') : body));
}

/** Whether no tag of the range has an end of life, and no repo with such tags. */
export async function isUndated({ lower, upper }: UidRange, db: ReadDb): Promise<boolean> {
  // The repo of the first tag is before its tags.
  return !(await hasDates({ lower: lower.endsWith("/") ? lower.slice(0, -1) : parentOf(lower), upper }, db));
}
