/**
 * Stores small values that all servers of an installation share, such as one-time decisions and the progress of jobs.
 */
import type { ReadDb, WriteDb } from "./store.ts";

export async function readState(db: ReadDb, name: string): Promise<string | undefined> {
  const row = await db.selectFrom("server_state").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value;
}

/** Stores the value unless the name already has one. Returns the stored value. */
export async function decideState(db: WriteDb, name: string, value: string): Promise<string> {
  await insertUnlessSet(db, name, value);
  return (await readState(db, name)) ?? value;
}

async function insertUnlessSet(db: WriteDb, name: string, value: string): Promise<void> {
  await db
    .insertInto("server_state")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
}

/** Stores the value, also where the name has another one. */
export async function setState(db: WriteDb, name: string, value: string): Promise<void> {
  await db
    .insertInto("server_state")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

/**
 * Reads a state that is stored as JSON and locks it until the transaction ends. Stores `first` if there is none yet.
 */
export async function lockState<State>(db: WriteDb, name: string, first: State): Promise<State> {
  await insertUnlessSet(db, name, JSON.stringify(first));
  const row = await db.dialect.forUpdate(db.selectFrom("server_state").select("value").where("name", "=", name)).executeTakeFirstOrThrow();
  return JSON.parse(row.value) as State;
}

/** Like `lockState`, but does not wait. Undefined if another transaction has locked the state. */
export async function tryLockState<State>(db: WriteDb, name: string, first: State): Promise<State | undefined> {
  const query = db.selectFrom("server_state").where("name", "=", name);
  const locked = db.dialect.forClaim(query.select("value"));
  const row = await db.selectNoFrom([locked.as("locked"), query.select("name").as("existing")]).executeTakeFirstOrThrow();
  if (row.locked !== null) return JSON.parse(row.locked) as State;
  return row.existing === null ? await lockState(db, name, first) : undefined;
}

/** Stores a state that the caller has locked, and returns it. */
export async function writeState<State>(db: WriteDb, name: string, state: State): Promise<State> {
  await db
    .updateTable("server_state")
    .set({ value: JSON.stringify(state) })
    .where("name", "=", name)
    .execute();
  return state;
}
