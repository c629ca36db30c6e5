/** The end of life of repos and tags, as their owner sets it. */
import { create } from "@bufbuild/protobuf";
import { type EndOfLife, EndOfLifeSchema, EndOfLifeService } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { type FieldViolation, notFound } from "../../lib/errors.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { livesOf } from "../end-of-life/lives.ts";
import { violationUnless } from "./fields.ts";

const MAX_GRACE_SECONDS = 10 * 366 * 24 * 60 * 60;
/** Binary messages can hold more in the part of a duration below a second, which JSON cannot write. */
const NANOS_PER_SECOND = 1_000_000_000;
/** With the longest grace period, the end can still be written as a time. */
const MAX_YEAR = 9900;
const MAX_TEXT = 255;
const encode = compileJsonEncoder(EndOfLifeSchema);

export const endOfLifeService = implement(EndOfLifeService, {
  getEndOfLife: read(async ({ uid }, { db, now }) => {
    const target = await findTarget(uid, db);
    return complete(await findSet(target, db), { db, now });
  }),

  updateEndOfLife: write(async ({ endOfLife, updateMask }, call) => {
    const incoming = endOfLife as EndOfLife;
    const target = await findTarget(incoming.uid, call.db);
    await lock(target, call.db);
    const current = await findSet(target, call.db);
    const next = applyMask(EndOfLifeSchema, current, incoming, updateMask);
    assertNone(violationsOf(next));
    call.changed = encode(next) !== encode(current);
    if (call.changed) await store(target, next, call.db);
    return complete(next, call);
  }),
});

/** A repo or a tag. */
interface Target {
  readonly uid: string;
  readonly table: "repo" | "tag";
}

async function findTarget(uid: string, db: ReadDb): Promise<Target> {
  for (const table of ["repo", "tag"] as const) {
    const row = await db.selectFrom(table).select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined) return { uid, table };
  }
  throw notFound("EndOfLife", uid);
}

async function lock({ uid, table }: Target, db: WriteDb): Promise<void> {
  const row = await db.dialect.forUpdate(db.selectFrom(table).select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (row === undefined) throw notFound("EndOfLife", uid);
}

/** What the owner has set on the target itself. */
async function findSet({ uid, table }: Target, db: ReadDb): Promise<EndOfLife> {
  const row = await db.selectFrom(`${table}_end_of_life`).select("body").where("uid", "=", uid).executeTakeFirst();
  return row === undefined ? create(EndOfLifeSchema, { uid }) : messageFromJson(EndOfLifeSchema, row.body);
}

async function store({ uid, table }: Target, endOfLife: EndOfLife, db: WriteDb): Promise<void> {
  const body = encode(endOfLife);
  await db
    .insertInto(`${table}_end_of_life`)
    .values({ uid, body })
    .onConflict((conflict) => conflict.column("uid").doUpdateSet({ body }))
    .execute();
}

/** Adds the fields that follow from the time, the repo and the settings. */
async function complete(set: EndOfLife, moment: { db: ReadDb; now: Date }): Promise<EndOfLife> {
  const life = (await livesOf([set.uid], moment)).get(set.uid)?.endOfLife;
  if (life?.endTime === undefined) return set;
  return create(EndOfLifeSchema, { ...set, state: life.state, endTime: life.endTime });
}

function violationsOf({ eolTime, releaseTime, gracePeriod, ...texts }: EndOfLife): FieldViolation[] {
  const { seconds = 0n, nanos = 0 } = gracePeriod ?? {};
  const isTime = (time: EndOfLife["eolTime"]) => time === undefined || isYear(dateFromTimestamp(time).getUTCFullYear());
  return [
    ...violationUnless(isTime(eolTime), "eol_time", `eol_time must be a time before the year ${MAX_YEAR}`),
    ...violationUnless(isTime(releaseTime), "release_time", `release_time must be a time before the year ${MAX_YEAR}`),
    ...violationUnless(
      seconds >= 0 && seconds <= MAX_GRACE_SECONDS && nanos >= 0 && nanos < NANOS_PER_SECOND,
      "grace_period",
      "grace_period must be between 0 and 10 years",
    ),
    ...violationUnless(
      isText(texts.mainPackageName),
      "main_package_name",
      `main_package_name must be one line of at most ${MAX_TEXT} characters`,
    ),
    ...violationUnless(
      isText(texts.mainPackageVersion),
      "main_package_version",
      `main_package_version must be one line of at most ${MAX_TEXT} characters`,
    ),
  ];
}

function isYear(year: number): boolean {
  return year >= 1 && year < MAX_YEAR;
}

function isText(text: string): boolean {
  return text.length <= MAX_TEXT && isCleanText(text);
}
