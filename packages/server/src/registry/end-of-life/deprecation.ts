/** Shows tags as deprecated once their end of life is over. The database stores the mark that the owner set by hand. */
import { EndOfLife_State as State } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import { sql } from "kysely";
import type { StoredTest } from "../../api/resource/counted-page.ts";
import { uidOfBody } from "../../api/resource/fields-of-body.ts";
import type { ReadDb } from "../../db/store.ts";
import { parentOf, type UidRange } from "../../lib/uid.ts";
import { hasDatesIn, type Life, livesOf } from "./lives.ts";

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

/** Tests that no tag of the range has an end of life, and no repo with such tags. */
export function areUndated({ lower, upper }: UidRange): StoredTest {
  // The repo of the first tag is before its tags.
  const range = { lower: lower.endsWith("/") ? lower.slice(0, -1) : parentOf(lower), upper };
  return { range, build: (within) => sql`not ${hasDatesIn(within)}` };
}
