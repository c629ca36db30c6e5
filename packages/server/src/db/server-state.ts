/** Small facts of an installation: what is decided once, whichever server is first, and how far servers have come with what they do in turn. */
import type { ReadDb, WriteDb } from "./store.ts";

export async function readState(db: ReadDb, name: string): Promise<string | undefined> {
  const row = await db.selectFrom("server_state").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value;
}

/** The value that stands: the one given, unless there was one already. */
export async function decideState(db: WriteDb, name: string, value: string): Promise<string> {
  await db
    .insertInto("server_state")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  return (await readState(db, name)) ?? value;
}

/** What a state is that is kept as JSON, locked until the transaction ends; the one given, where there was none. */
export async function lockState<State>(db: WriteDb, name: string, first: State): Promise<State> {
  await db
    .insertInto("server_state")
    .values({ name, value: JSON.stringify(first) })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  const row = await db.dialect.forUpdate(db.selectFrom("server_state").select("value").where("name", "=", name)).executeTakeFirstOrThrow();
  return JSON.parse(row.value) as State;
}

/** Of a state that the caller has locked. @returns the state */
export async function writeState<State>(db: WriteDb, name: string, state: State): Promise<State> {
  await db
    .updateTable("server_state")
    .set({ value: JSON.stringify(state) })
    .where("name", "=", name)
    .execute();
  return state;
}
