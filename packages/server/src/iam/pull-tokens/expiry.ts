/** Announces pull tokens that expire soon, and deletes those that expired long ago. */
import { toJson } from "@bufbuild/protobuf";
import { PullTokenSchema } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { appendToCounts } from "../../db/resource-count.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { Loop, waitFully } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { parentOf } from "../../lib/uid.ts";
import { appendPlainEvents, type EventNames } from "../../outbox/outbox.ts";

const DAY_MS = 24 * 3_600_000;
const ANNOUNCED_BEFORE_MS = 14 * DAY_MS;
const KEPT_AFTER_EXPIRY_MS = 30 * DAY_MS;
const INTERVAL_MS = 60_000;
const TOKENS_PER_TRANSACTION = 100;

/** When the expiry of a password is announced; null if it is valid for less than 14 days. In the form of the column. */
export function announceTimeOf(now: Date, expireTime: Date): string | null {
  const time = new Date(expireTime.getTime() - ANNOUNCED_BEFORE_MS);
  return time > now ? time.toISOString() : null;
}

export interface PullTokenExpiryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly names: EventNames;
}

export function startPullTokenExpiry(options: PullTokenExpiryOptions): Loop {
  const { store, clock, log, names } = options;
  const step = async (): Promise<number> => {
    const now = clock.now();
    const announced = await store.transaction((db) => announceExpiring(db, now, names));
    const deleted = await store.transaction((db) => deleteExpired(db, now));
    return Math.max(announced, deleted) === TOKENS_PER_TRANSACTION ? 0 : INTERVAL_MS;
  };
  return new Loop({ name: "announcing the expiry of pull tokens", log, spacingMs: 100, step: waitFully(step) });
}

/** One of several servers announces a token. @returns the number of events */
export async function announceExpiring(db: WriteDb, now: Date, names: EventNames): Promise<number> {
  const due = db
    .selectFrom("pull_token")
    .select("uid")
    .where("announce_time", "<=", now.toISOString())
    .orderBy("announce_time")
    .limit(TOKENS_PER_TRANSACTION);
  const rows = await db
    .updateTable("pull_token")
    .set({ announce_time: null })
    .where("uid", "in", due)
    .where("announce_time", "is not", null)
    .returning(["uid", "body"])
    .execute();
  const events = rows.map(({ uid, body }) => ({
    type: "api.holt.pull_token.expiring.v1",
    source: `${names.baseUrl}/holt/v1/pullTokens`,
    subject: uid,
    group: parentOf(uid),
    extensions: {},
    actor: undefined,
    body: toJson(PullTokenSchema, messageFromJson(PullTokenSchema, body), { useProtoFieldName: true }),
    now,
  }));
  await appendPlainEvents(db, events, names);
  return rows.length;
}

/** @returns the number of deleted tokens */
export async function deleteExpired(db: WriteDb, now: Date): Promise<number> {
  const before = new Date(now.getTime() - KEPT_AFTER_EXPIRY_MS).toISOString();
  const due = db
    .selectFrom("pull_token")
    .select("uid")
    .where("expire_time", "<", before)
    .orderBy("expire_time")
    .limit(TOKENS_PER_TRANSACTION);
  // A rotation in the meantime has moved the expiry of a row.
  const rows = await db.deleteFrom("pull_token").where("uid", "in", due).where("expire_time", "<", before).returning("uid").execute();
  await appendToCounts(
    db,
    "pull_token",
    rows.map(({ uid }) => uid),
    -1,
  );
  return rows.length;
}
