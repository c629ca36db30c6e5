/**
 * Checks that the blob folder belongs to the database. Collection deletes files that the database does not know, so a
 * database must never use the folder of another one. A database without its folder would serve no images.
 */
import { randomUUID } from "node:crypto";
import { decideState, readState, setState } from "../db/server-state.ts";
import type { Store } from "../db/store.ts";
import type { Log } from "../lib/log.ts";
import { ensureFolderId, hasBlobFiles, readFolderId } from "./folder-id.ts";
import type { BlobStore } from "./store.ts";

/** Name of the row in server_state that holds the folder's id. */
const FOLDER = "blob_folder";
/** Name of the row that holds the prefix of ids that this database creates. It is stored before any folder gets an id. */
const CLAIM = "blob_folder_claim";

const CHECK = "Check HOLT_DATA_DIR and HOLT_DATABASE_URL, or restore the backup.";
const ADOPT = "holtd adopt-blobs";

/**
 * The first server of a database records its folder.
 * @throws Error for the operator if the folder is of another database, or this database's folder is missing
 */
export async function assertBlobFolder(store: Store, dataDir: string): Promise<void> {
  const recorded = await readState(store.reader, FOLDER);
  if (recorded === undefined) await recordFolder(store, dataDir);
  const id = await readFolderId(dataDir);
  if (id !== undefined && id === (await readState(store.reader, FOLDER))) return;
  throw id === undefined && !(await hasBlobFiles(dataDir)) ? missingFolder(dataDir) : otherFolder(dataDir);
}

/** Assigns the folder to the database without looking at its content: for an operator who knows that the right one is lost. */
export async function adoptBlobFolder(store: Store, dataDir: string): Promise<void> {
  const id = await ensureFolderId(dataDir, await claimOf(store));
  await store.transaction((db) => setState(db, FOLDER, id));
}

const SAMPLE_SIZE = 50;

/** Looks for the files of some blobs, and logs each that is missing: a restore may have brought back too little. */
export async function checkSample(store: Store, blobs: BlobStore, log: Log): Promise<void> {
  const some = store.reader.selectFrom("blob").select(["digest", "size"]).orderBy("digest").limit(SAMPLE_SIZE);
  const sample = await some.where("digest", ">=", `sha256:${randomUUID()}`).execute();
  let lost = 0;
  for (const { digest, size } of sample) if (await blobs.hasLost(digest, size)) lost++;
  if (lost > 0)
    log.error({ lost, checked: sample.length }, "files of blobs are missing; restore the folder of the blobs, or push the content again");
}

async function recordFolder(store: Store, dataDir: string): Promise<void> {
  const claim = await claimOf(store);
  const found = await readFolderId(dataDir);
  const isOurs = found?.startsWith(`${claim}.`) === true;
  const blob = await store.reader.selectFrom("blob").select("digest").limit(1).executeTakeFirst();
  const hasFiles = await hasBlobFiles(dataDir);
  if (!isOurs && blob === undefined && (found !== undefined || hasFiles)) throw foreignFolder(dataDir);
  if (blob !== undefined && !hasFiles) throw missingFolder(dataDir);
  const id = await ensureFolderId(dataDir, claim);
  await store.transaction((db) => decideState(db, FOLDER, id));
}

function claimOf(store: Store): Promise<string> {
  return store.transaction((db) => decideState(db, CLAIM, randomUUID()));
}

function foreignFolder(dataDir: string): Error {
  return new Error(
    `the folder ${dataDir}/blobs has images of another database, but this database has none. ${CHECK} ` +
      `To begin without these images, move the folder away. If they do belong to this database, run: ${ADOPT}`,
  );
}

function missingFolder(dataDir: string): Error {
  return new Error(
    `the database has images, but the folder ${dataDir}/blobs with their content is missing. ${CHECK} ` +
      `If the content is lost, run: ${ADOPT}. The server then starts, and clients can push the content again`,
  );
}

function otherFolder(dataDir: string): Error {
  return new Error(
    `HOLT_DATA_DIR is ${dataDir}, but the images of this database are in another folder. All servers of one database must share one folder. ` +
      `${CHECK} If that folder is lost, run: ${ADOPT}`,
  );
}
