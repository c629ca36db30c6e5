/** Loads complete advisories as messages of version 1, with all their events. */
import type { JsonValue } from "@bufbuild/protobuf";
import { type Advisory, type AdvisoryEvent, AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import type { Selectable } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { compileJsonDecoder } from "../../lib/proto-json-decode.ts";
import { v1FromV2 } from "../model/versions.ts";
import type { AdvisoryTable } from "../tables.ts";

const decodeEvent = compileJsonDecoder(AdvisoryEventSchema);

export interface LoadedAdvisory {
  readonly row: Selectable<AdvisoryTable>;
  readonly advisory: Advisory;
}

/**
 * Locks the advisories until the transaction ends, in the order of their uids, and leaves out those that do not exist.
 * Every change of an advisory or its events takes this lock.
 */
export async function loadForUpdate(db: WriteDb, uids: readonly string[]): Promise<LoadedAdvisory[]> {
  const wanted = db.selectFrom(db.dialect.valuesOf(uids).as("wanted")).select("wanted.value");
  const rows = await db.dialect.forUpdate(db.selectFrom("advisory").selectAll().where("uid", "in", wanted).orderBy("uid")).execute();
  return rows.map((row) => ({ row, advisory: advisoryFromRow(row) }));
}

export function advisoryFromRow({ body, other_events }: Pick<AdvisoryTable, "body" | "other_events">): Advisory {
  return v1FromV2(messageFromJson(AdvisorySchema, body), parseOtherEvents(other_events));
}

/** Completes the rows of a list, which have only uid and body. One query. */
export async function advisoriesFromBodies(db: ReadDb, uids: readonly string[], bodies: readonly string[]): Promise<Advisory[]> {
  const rows = await db
    .selectFrom("advisory")
    .select(["uid", "other_events"])
    .where("uid", "in", db.selectFrom(db.dialect.valuesOf(uids).as("wanted")).select("wanted.value"))
    .where("other_events", "<>", "")
    .execute();
  const others = new Map(rows.map(({ uid, other_events }) => [uid, other_events]));
  return uids.map((uid, i) => advisoryFromRow({ body: bodies[i]!, other_events: others.get(uid) ?? "" }));
}

function parseOtherEvents(text: string): AdvisoryEvent[] {
  if (text === "") return [];
  return (JSON.parse(text) as JsonValue[]).map(decodeEvent);
}
