/**
 * How organizations share background work, so that none of them keeps the others waiting. Two questions have one answer
 * each:
 * - How many runs may an organization have at the same time? Slots and `claimFairly` bound that within this server.
 * - Whose turn is next, where a server does one run at a time? The organization whose last turn is longest ago, on any
 *   server. A table has that time of each organization: `lockTurns`, `lastTurn` and `recordTurn` work on it.
 */
import { type RawBuilder, sql } from "kysely";
import type { Schema } from "../db/schema.ts";
import { lockState } from "../db/server-state.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { Tally } from "../lib/tally.ts";
import { ROOT_LENGTH, rootOf } from "../lib/uid.ts";

export interface SlotPolicy {
  readonly slots: number;
  /** Maximum number of slots of one organization. */
  readonly maxOfOne?: number;
  /** The part that an organization may have of its own slots and the free ones: with 1/2 it always leaves as many free as it has. */
  readonly shareOfOne?: number;
}

export interface Slots {
  free(): number;
  /** Whether the organization of this uid may have one more, or as many more. */
  mayTake(uid: string, count?: number): boolean;
  /** Also where the organization may not: a run that is under way can be moved here. */
  take(uid: string, count?: number): void;
  giveBack(uid: string, count?: number): void;
  /** The organizations that have slots and may not have more. */
  full(): string[];
  /** Independent of this one from here on. */
  copy(): Slots;
}

export function createSlots(policy: SlotPolicy, before: readonly (readonly [organization: string, count: number])[] = []): Slots {
  const { slots, maxOfOne = Number.POSITIVE_INFINITY, shareOfOne = 1 } = policy;
  const taken = new Tally(before);
  let free = before.reduce((rest, [, count]) => rest - count, slots);
  const add = (uid: string, count: number): void => {
    taken.add(rootOf(uid), count);
    free -= count;
  };
  /** @param held slots of the organization, to which `count - held` are to be added first */
  const mayHaveMoreThan = (count: number, held = count): boolean => count < maxOfOne && count < shareOfOne * (held + free);
  return {
    free: () => free,
    mayTake(uid, count = 1) {
      const all = slots - free + count;
      // All organizations together are within the limits of one.
      if (all <= maxOfOne && all <= shareOfOne * free) return true;
      const held = taken.get(rootOf(uid));
      return mayHaveMoreThan(held + count - 1, held);
    },
    take: (uid, count = 1) => add(uid, count),
    giveBack: (uid, count = 1) => add(uid, -count),
    full: () =>
      taken
        .counts()
        .filter(([, count]) => !mayHaveMoreThan(count))
        .map(([organization]) => organization),
    copy: () => createSlots(policy, taken.counts()),
  };
}

export interface FairClaim<Row> {
  readonly slots: Slots;
  /** Maximum number of rows. */
  readonly limit: number;
  /** Reads the rows that are due, the oldest first, without those of the organizations that are full. */
  read(full: readonly string[], limit: number): Promise<readonly Row[]>;
  uidOf(row: Row): string;
  /** Claims the rows, so that `read` does not find them again. */
  claim(rows: readonly Row[]): Promise<unknown>;
}

/** Claims the oldest rows, of each organization at most as many as it may take slots for, and takes those slots. */
export async function claimFairly<Row>({ slots, limit, read, uidOf, claim }: FairClaim<Row>): Promise<Row[]> {
  const claimed: Row[] = [];
  for (;;) {
    const count = Math.min(slots.free(), limit - claimed.length);
    const rows = count > 0 ? await read(slots.full(), count) : [];
    const fitting = rows.filter((row) => {
      const mayTake = slots.mayTake(uidOf(row));
      if (mayTake) slots.take(uidOf(row));
      return mayTake;
    });
    await claim(fitting);
    claimed.push(...fitting);
    // The organization of a row that was passed over is full now, and its rows are not read again.
    if (fitting.length === rows.length) return claimed;
  }
}

/** A condition on a row: its uid is not of one of these organizations. */
export function isNotOf(db: ReadDb, organizations: readonly string[], uidColumn: string): RawBuilder<boolean> {
  if (organizations.length === 0) return sql<boolean>`true`;
  const organization = sql`substr(${sql.ref(uidColumn)}, 1, ${sql.lit(ROOT_LENGTH)})`;
  return sql<boolean>`${organization} not in (select v.value from ${db.dialect.valuesOf(organizations)} as v)`;
}

interface TurnColumns {
  org_uid: string;
  turn_time: string;
}

type TurnTable = { [Name in keyof Schema]: Schema[Name] extends TurnColumns ? Name : never }[keyof Schema];

/** Until the transaction ends, no other server chooses an organization: two at the same time would both choose the same. */
export async function lockTurns(db: WriteDb, table: TurnTable): Promise<void> {
  await lockState(db, `${table}s`, {});
}

/** Sorts organizations by their last turn, those without one first. @param orgUid as a term of the query */
export function lastTurn(table: TurnTable, orgUid: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`coalesce((select t.turn_time from ${sql.table(table)} as t where t.org_uid = ${orgUid}), '')`;
}

export interface Turn {
  readonly orgUid: string;
  readonly begun: Date;
  readonly now: Date;
}

/** Adds the duration of the turn to its end: an organization that occupies a server for minutes then lets others go first for as long. */
export async function recordTurn(db: WriteDb, table: TurnTable, { orgUid, begun, now }: Turn): Promise<void> {
  const turn_time = new Date(2 * now.getTime() - begun.getTime()).toISOString();
  await db
    .insertInto(table)
    .values({ org_uid: orgUid, turn_time })
    // Another server may have recorded a longer turn meanwhile.
    .onConflict((conflict) => conflict.column("org_uid").doUpdateSet({ turn_time }).where(`${table}.turn_time`, "<", turn_time))
    .execute();
}
