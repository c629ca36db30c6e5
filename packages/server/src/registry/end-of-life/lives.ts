/** Reads the end of life of tags and repos. Dates that a tag lacks come from its repo. */
import { create } from "@bufbuild/protobuf";
import { type EndOfLife, EndOfLifeSchema, EndOfLife_State as State } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { ROW } from "../../db/lookup.ts";
import { prepare } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { dateFromTimestamp, millisecondsFromDuration, timestampFromDate } from "../../lib/clock.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { parentOf, type UidRange } from "../../lib/uid.ts";
import { registrySettingsOf } from "../registry-settings.ts";

/** Where neither the tag nor the repo sets a grace period, and the settings give one. */
const DEFAULT_GRACE_MONTHS = 6;

export interface Life {
  /** With the fields of the repo where the tag has none, and with state and end. */
  readonly endOfLife: EndOfLife;
  readonly hasGracePeriod: boolean;
}

/** @param uids of tags or repos @returns by uid; repos and tags for which nothing is set have none */
export async function livesOf(uids: readonly string[], { db, now }: { db: ReadDb; now: Date }): Promise<ReadonlyMap<string, Life>> {
  const all = [...new Set([...uids, ...uids.map(parentOf)])];
  // Most lists have no dates, and one look at the range of their uids costs less than one for each uid.
  const set = (await hasDates(rangeOf(all), db)) ? await readAll(all, db) : NONE;
  const lives = new Map<string, Life>();
  if (set.size === 0) return lives;
  const grace = new Map<string, Promise<boolean>>();
  for (const uid of uids) {
    const own = set.get(uid);
    const parent = set.get(parentOf(uid));
    if (own === undefined && parent === undefined) continue;
    const merged = merge(uid, own?.endOfLife, parent?.endOfLife);
    const repoUid = own?.isRepo ? uid : parentOf(uid);
    if (!grace.has(repoUid) && needsDefault(merged)) grace.set(repoUid, hasDefaultGrace(repoUid, db));
    lives.set(uid, lifeOf(merged, (await grace.get(repoUid)) ?? false, now));
  }
  return lives;
}

interface Stored {
  readonly endOfLife: EndOfLife;
  readonly isRepo: boolean;
}

const NONE: ReadonlyMap<string, Stored> = new Map();

/** SQL: whether a tag or repo of the range has dates of its own. */
export function hasDatesIn({ lower, upper }: UidRange): RawBuilder<boolean> {
  const first = (table: "tag_end_of_life" | "repo_end_of_life") =>
    sql`exists (select 1 from ${sql.table(table)} where uid >= ${lower} and uid < ${upper})`;
  return sql`(${first("tag_end_of_life")} or ${first("repo_end_of_life")})`;
}

const dated = prepare<UidRange, { dated: number }>(
  (db, param) =>
    sql<{ dated: number }>`select 1 as dated where ${hasDatesIn({ lower: param("lower"), upper: param("upper") })}`.compile(db),
  { weight: ROW },
);

async function hasDates(range: UidRange, db: ReadDb): Promise<boolean> {
  return (await dated.first(db, range)) !== undefined;
}

/** The range from the first to the last of the uids. */
function rangeOf(uids: readonly string[]): UidRange {
  let [least = "", greatest = ""] = [uids[0], uids[0]];
  for (const uid of uids) {
    if (uid < least) least = uid;
    if (uid > greatest) greatest = uid;
  }
  return { lower: least, upper: `${greatest}0` };
}

async function readAll(uids: readonly string[], db: ReadDb): Promise<ReadonlyMap<string, Stored>> {
  const isWanted = db.selectFrom(db.dialect.valuesOf(uids).as("wanted")).select("wanted.value");
  const rows = await db
    .selectFrom("tag_end_of_life")
    .select((eb) => ["uid", "body", eb.lit<number>(0).as("is_repo")])
    .where("uid", "in", isWanted)
    .unionAll((eb) =>
      eb
        .selectFrom("repo_end_of_life")
        .select((inner) => ["uid", "body", inner.lit<number>(1).as("is_repo")])
        .where("uid", "in", isWanted),
    )
    .execute();
  return new Map(
    rows.map(({ uid, body, is_repo }) => [uid, { endOfLife: messageFromJson(EndOfLifeSchema, body), isRepo: Number(is_repo) === 1 }]),
  );
}

function merge(uid: string, own = create(EndOfLifeSchema), repo = create(EndOfLifeSchema)): EndOfLife {
  const merged = create(EndOfLifeSchema, {
    uid,
    mainPackageName: own.mainPackageName || repo.mainPackageName,
    mainPackageVersion: own.mainPackageVersion || repo.mainPackageVersion,
    lts: own.lts || repo.lts,
  });
  for (const key of ["eolTime", "releaseTime"] as const) {
    const time = own[key] ?? repo[key];
    if (time !== undefined) merged[key] = time;
  }
  const gracePeriod = own.gracePeriod ?? repo.gracePeriod;
  if (gracePeriod !== undefined) merged.gracePeriod = gracePeriod;
  return merged;
}

function needsDefault({ eolTime, gracePeriod }: EndOfLife): boolean {
  return eolTime !== undefined && gracePeriod === undefined;
}

async function hasDefaultGrace(repoUid: string, db: ReadDb): Promise<boolean> {
  if ((await registrySettingsOf(repoUid, db)).eolGracePeriod) return true;
  const row = await db.selectFrom("repo").select("body").where("uid", "=", repoUid).executeTakeFirst();
  return row !== undefined && messageFromJson(RepoSchema, row.body).syncConfig?.gracePeriod === true;
}

function lifeOf(endOfLife: EndOfLife, hasDefault: boolean, now: Date): Life {
  const { eolTime, gracePeriod } = endOfLife;
  const graceMs = gracePeriod === undefined ? 0 : millisecondsFromDuration(gracePeriod);
  const hasGracePeriod = graceMs > 0 || (gracePeriod === undefined && hasDefault);
  if (eolTime === undefined) return { endOfLife, hasGracePeriod: false };
  const eol = dateFromTimestamp(eolTime);
  const end = graceMs > 0 || !hasGracePeriod ? new Date(eol.getTime() + graceMs) : addMonths(eol, DEFAULT_GRACE_MONTHS);
  endOfLife.endTime = timestampFromDate(end);
  endOfLife.state = now < eol ? State.ACTIVE : now < end ? State.IN_GRACE : State.ENDED;
  return { endOfLife, hasGracePeriod };
}

/** The same day of a later month, or its last day. */
function addMonths(date: Date, months: number): Date {
  const later = new Date(date);
  later.setUTCMonth(later.getUTCMonth() + months);
  // The 31st of a shorter month is a day of the next one.
  if (later.getUTCDate() !== date.getUTCDate()) later.setUTCDate(0);
  return later;
}
