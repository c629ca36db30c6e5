/** Finds the subscriptions that receive an event: those of its group and of every group above it, if they want its type. */
import type { ReadDb } from "../../db/store.ts";
import { ancestry } from "../../lib/uid.ts";
import { compileTypeFilter, type TypeFilter } from "./type-filter.ts";

export interface NewEvent {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly group_uid: string;
  readonly subject: string;
  readonly audience: "customer" | "internal" | "test";
}

interface Receiver {
  readonly uid: string;
  readonly wants: TypeFilter;
}

/**
 * @param prefix of every type that this server emits
 * @returns a function for the uids of one event's subscriptions: for all events together there may be millions
 */
export async function subscriptionsOf(db: ReadDb, events: readonly NewEvent[], prefix: string): Promise<(event: NewEvent) => string[]> {
  const byGroup = await readByGroup(db, [...new Set(events.flatMap(groupsOf))], prefix);
  const testSubjects = await readExisting(
    db,
    events.filter(({ audience }) => audience === "test").map(({ subject }) => subject),
  );
  return (event) => {
    // A test event goes to the subscription that it is about, and ignores the types of that subscription.
    if (event.audience === "test") return testSubjects.has(event.subject) ? [event.subject] : [];
    return groupsOf(event).flatMap((group) => receiversOf(byGroup.get(group) ?? [], event));
  };
}

function receiversOf(receivers: readonly Receiver[], { type }: NewEvent): string[] {
  return receivers.filter(({ wants }) => wants(type)).map(({ uid }) => uid);
}

function groupsOf({ audience, group_uid: group }: NewEvent): string[] {
  return audience === "customer" && group !== "" ? ancestry(group) : [];
}

async function readByGroup(db: ReadDb, groups: readonly string[], prefix: string): Promise<Map<string, Receiver[]>> {
  const byGroup = new Map<string, Receiver[]>();
  if (groups.length === 0) return byGroup;
  const values = db.selectFrom(db.dialect.valuesOf(groups).as("v")).select("v.value");
  const rows = await db
    .selectFrom("subscription")
    .select(["uid", "parent", "types"])
    .where("parent", "in", values)
    .orderBy("uid")
    .execute();
  // Many subscriptions have the same types, mostly none.
  const filters = new Map<string, TypeFilter>();
  for (const { uid, parent, types } of rows) {
    const wants = filters.get(types) ?? compileTypeFilter(JSON.parse(types) as string[], prefix);
    filters.set(types, wants);
    const known = byGroup.get(parent ?? "");
    if (known === undefined) byGroup.set(parent ?? "", [{ uid, wants }]);
    else known.push({ uid, wants });
  }
  return byGroup;
}

async function readExisting(db: ReadDb, uids: readonly string[]): Promise<Set<string>> {
  if (uids.length === 0) return new Set();
  const values = db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value");
  const rows = await db.selectFrom("subscription").select("uid").where("uid", "in", values).execute();
  return new Set(rows.map(({ uid }) => uid));
}
