/**
 * Checks that a folder or bucket of blobs belongs to the database. Collection deletes blobs that the database does not
 * know, so a database must never use the blobs of another one. A database without its blobs would serve no images.
 */
import { randomUUID } from "node:crypto";
import { decideState, readState, setState } from "../db/server-state.ts";
import type { Store } from "../db/store.ts";
import type { Log } from "../lib/log.ts";
import type { BlobStore } from "./store.ts";

/** A place of blobs, with an id that tells whose they are. */
export interface BlobHome {
  /** For messages, such as `the folder /data/blobs`. */
  readonly name: string;
  /** Undefined if the place has no id yet. @throws Error for the operator if the place is unusable, as the others */
  readId(): Promise<string | undefined>;
  hasBlobs(): Promise<boolean>;
  /** Returns the place's id, and stores the given one if it has none. Concurrent callers get the same id. */
  ensureId(id: string): Promise<string>;
}

/** Name of the row in server_state that holds the id of the place. */
const HOME = "blob_folder";
/** Name of the row that holds the prefix of ids that this database creates. It is stored before any place gets an id. */
const CLAIM = "blob_folder_claim";

const CHECK = "Check HOLT_BLOBS, HOLT_DATA_DIR and HOLT_DATABASE_URL, or restore the backup.";
const ADOPT = "holtd adopt-blobs";

/**
 * The first server of a database records its place.
 * @param fallback the other place while blobs move: one of the two must be that of the database already
 * @throws Error for the operator if the place is of another database, or this database's place is missing
 */
export async function assertBlobHome(store: Store, home: BlobHome, fallback?: BlobHome): Promise<void> {
  const recorded = await readState(store.reader, HOME);
  if (recorded === undefined) await recordHome(store, home);
  const known = await readState(store.reader, HOME);
  const homes = fallback === undefined ? [home] : [home, fallback];
  const ids = await Promise.all(homes.map((each) => each.readId()));
  if (!ids.includes(known)) throw (await isEmpty(home)) ? missingHome(home) : otherHome(home);
  for (const each of homes) {
    if ((await each.readId()) === known) continue;
    if (known === undefined || !(await isEmpty(each))) throw otherHome(each);
    await each.ensureId(known);
  }
}

async function isEmpty(home: BlobHome): Promise<boolean> {
  return (await home.readId()) === undefined && !(await home.hasBlobs());
}

/** Assigns the place to the database without looking at its content: for an operator who knows that the right one is lost. */
export async function adoptBlobHome(store: Store, home: BlobHome): Promise<void> {
  const id = await home.ensureId(await newId(store));
  await store.transaction((db) => setState(db, HOME, id));
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

async function recordHome(store: Store, home: BlobHome): Promise<void> {
  const id = await newId(store);
  const found = await home.readId();
  const isOurs = found !== undefined && claimIn(found) === claimIn(id);
  const blob = await store.reader.selectFrom("blob").select("digest").limit(1).executeTakeFirst();
  const hasBlobs = await home.hasBlobs();
  if (!isOurs && blob === undefined && (found !== undefined || hasBlobs)) throw foreignHome(home);
  if (blob !== undefined && !hasBlobs) throw missingHome(home);
  const stored = await home.ensureId(id);
  await store.transaction((db) => decideState(db, HOME, stored));
}

/** The part before the dot says which database created the id. */
async function newId(store: Store): Promise<string> {
  const claim = await store.transaction((db) => decideState(db, CLAIM, randomUUID()));
  return `${claim}.${randomUUID()}`;
}

function claimIn(id: string): string | undefined {
  return id.split(".")[0];
}

function foreignHome({ name }: BlobHome): Error {
  return new Error(
    `${name} has images of another database, but this database has none. ${CHECK} ` +
      `To begin without these images, move them away. If they do belong to this database, run: ${ADOPT}`,
  );
}

function missingHome({ name }: BlobHome): Error {
  return new Error(
    `the database has images, but ${name} with their content is missing. ${CHECK} ` +
      `If the content is lost, run: ${ADOPT}. The server then starts, and clients can push the content again`,
  );
}

function otherHome({ name }: BlobHome): Error {
  return new Error(
    `the settings say ${name}, but the images of this database are in another folder or bucket. ` +
      `All servers of one database must share one. ${CHECK} If it is lost, run: ${ADOPT}`,
  );
}
