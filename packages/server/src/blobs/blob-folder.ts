/** Checks that the blob folder belongs to the shared database. With SQLite, both are always in the same data folder. */
import { decideState, readState } from "../db/server-state.ts";
import type { Store } from "../db/store.ts";
import { ensureFolderId, readFolderId } from "./folder-id.ts";

/** Name of the row in server_state that holds the folder's id. */
const STATE_NAME = "blob_folder";

/** The first server of a database records its folder. @throws Error for the operator if another folder is recorded */
export async function assertBlobFolder(store: Store, dataDir: string): Promise<void> {
  if ((await readState(store.reader, STATE_NAME)) === undefined) {
    const id = await ensureFolderId(dataDir);
    await store.transaction((db) => decideState(db, STATE_NAME, id));
  }
  if ((await readState(store.reader, STATE_NAME)) === (await readFolderId(dataDir))) return;
  throw new Error(
    `HOLT_DATA_DIR is ${dataDir}, but the images of this database are in another folder. All servers of one database must share one folder. ` +
      `If that folder is lost, delete the row "${STATE_NAME}" of the table server_state; the next server to start then records its own folder`,
  );
}
