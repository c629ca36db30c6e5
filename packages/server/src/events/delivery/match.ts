/** Finds the subscriptions that receive an event: those of its group and of every group above it. */
import type { ReadDb } from "../../db/store.ts";
import { ancestry } from "../../lib/uid.ts";

export interface NewEvent {
  readonly seq: number;
  readonly id: string;
  readonly group_uid: string;
  readonly subject: string;
  readonly audience: "customer" | "internal" | "test";
}

/** @returns a function for the uids of one event's subscriptions: for all events together there may be millions */
export async function subscriptionsOf(db: ReadDb, events: readonly NewEvent[]): Promise<(event: NewEvent) => string[]> {
  const byGroup = await readByGroup(db, [...new Set(events.flatMap(groupsOf))]);
  const testSubjects = await readExisting(
    db,
    events.filter(({ audience }) => audience === "test").map(({ subject }) => subject),
  );
  return (event) => {
    // A test is for the one subscription that is its subject.
    if (event.audience === "test") return testSubjects.has(event.subject) ? [event.subject] : [];
    return groupsOf(event).flatMap((group) => byGroup.get(group) ?? []);
  };
}

function groupsOf({ audience, group_uid: group }: NewEvent): string[] {
  return audience === "customer" && group !== "" ? ancestry(group) : [];
}

async function readByGroup(db: ReadDb, groups: readonly string[]): Promise<Map<string, string[]>> {
  const byGroup = new Map<string, string[]>();
  if (groups.length === 0) return byGroup;
  const values = db.selectFrom(db.dialect.valuesOf(groups).as("v")).select("v.value");
  const rows = await db.selectFrom("subscription").select(["uid", "parent"]).where("parent", "in", values).orderBy("uid").execute();
  for (const { uid, parent } of rows) {
    const known = byGroup.get(parent ?? "");
    if (known === undefined) byGroup.set(parent ?? "", [uid]);
    else known.push(uid);
  }
  return byGroup;
}

async function readExisting(db: ReadDb, uids: readonly string[]): Promise<Set<string>> {
  if (uids.length === 0) return new Set();
  const values = db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value");
  const rows = await db.selectFrom("subscription").select("uid").where("uid", "in", values).execute();
  return new Set(rows.map(({ uid }) => uid));
}
