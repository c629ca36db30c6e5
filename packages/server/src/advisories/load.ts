/** Reads advisories whole, as version 1 shows them: bodies with all their events. */
import { type Advisory, AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import type { Selectable } from "kysely";
import type { AdvisoryTable } from "../db/schema.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { messageFromJson } from "../lib/proto-json.ts";
import { v1FromV2 } from "./versions.ts";

export interface LoadedAdvisory {
  readonly row: Selectable<AdvisoryTable>;
  readonly advisory: Advisory;
}

/** Locked until the transaction ends, in the order of their uids; those that are not there are left out. Whoever changes an advisory or its events does so under this lock. */
export async function loadForUpdate(db: WriteDb, uids: readonly string[]): Promise<LoadedAdvisory[]> {
  const wanted = db.selectFrom(db.dialect.valuesOf(uids).as("wanted")).select("wanted.value");
  const rows = await db.dialect.forUpdate(db.selectFrom("advisory").selectAll().where("uid", "in", wanted).orderBy("uid")).execute();
  const advisories = await withEvents(db, rows);
  return rows.map((row, i) => ({ row, advisory: advisories[i] as Advisory }));
}

/** @param rows bodies of version 2 as stored */
export async function withEvents(db: ReadDb, rows: readonly { readonly uid: string; readonly body: string }[]): Promise<Advisory[]> {
  const eventsOf = new Map(rows.map(({ uid }) => [uid, [] as Advisory["events"]]));
  const events = await db
    .selectFrom("advisory_event")
    .select(["advisory_uid", "body"])
    .where("advisory_uid", "in", db.selectFrom(db.dialect.valuesOf([...eventsOf.keys()]).as("wanted")).select("wanted.value"))
    .orderBy("advisory_uid")
    .orderBy("create_time")
    .orderBy("uid")
    .execute();
  for (const { advisory_uid, body } of events) eventsOf.get(advisory_uid)?.push(messageFromJson(AdvisoryEventSchema, body));
  return rows.map(({ uid, body }) => v1FromV2(messageFromJson(AdvisorySchema, body), eventsOf.get(uid) ?? []));
}
