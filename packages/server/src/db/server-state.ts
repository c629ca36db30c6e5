/** Small facts of an installation that are decided once, whichever server is first: secrets, and what the first start made. */
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
