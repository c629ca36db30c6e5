/** Whether the folder of blobs is the one that the rows of a shared database speak of. With SQLite, both are in one folder anyway. */

import { decideState, readState } from "../db/server-state.ts";
import type { Store } from "../db/store.ts";
import { ensureFolderId, readFolderId } from "./folder-id.ts";

/** Row of server_state. */
const NAME = "blob_folder";

/** The first server of a database decides. @throws Error for the operator where it is another folder */
export async function assertBlobFolder(store: Store, dataDir: string): Promise<void> {
  if ((await readState(store.reader, NAME)) === undefined) {
    const id = await ensureFolderId(dataDir);
    await store.transaction((db) => decideState(db, NAME, id));
  }
  if ((await readState(store.reader, NAME)) === (await readFolderId(dataDir))) return;
  throw new Error(
    `HOLT_DATA_DIR is ${dataDir}, but the images of this database are in another folder. All servers of one database must share one folder. ` +
      `Where it is lost for good, delete the row "${NAME}" of the table server_state, and the next server to start begins with its own`,
  );
}
