/**
 * Keeps the write-ahead log of an SQLite file until its frames are archived. A reader that never ends keeps all
 * processes from beginning the log anew; only `checkpoint` does that.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isBusy, type SqliteConnection } from "./sqlite-connection.ts";
import type { SqliteWriter } from "./sqlite-writer.ts";

const MAX_TRIES = 100;
const PAUSE_MS = 20;

export interface WalControl {
  /** Path of the database. */
  readonly path: string;
  /** A number in the database that only `begin` changes. */
  readonly mark: number;
  /** Is called after commits of this process. It must not throw. */
  onCommit: () => void;
  /** Runs work while no transaction of this process is under way. Other processes may write meanwhile. */
  exclusively<T>(work: (wal: ExclusiveWal) => Promise<T>): Promise<T>;
}

export interface ExclusiveWal {
  /**
   * Copies the log into the database. If the whole log is copied, nothing keeps it until `begin` is called.
   * @returns whether it is; false if readers need an earlier state
   */
  checkpoint(): Promise<boolean>;
  /**
   * Writes a page, and keeps the log that has it: a new one after a checkpoint, unless readers still use the old one.
   * @param mark is written with it; unchanged by default
   */
  begin(mark?: number): Promise<void>;
}

export interface WalControlParts {
  readonly path: string;
  readonly connection: SqliteConnection;
  readonly writer: SqliteWriter;
  /** A connection that reads only, so that it leaves the log as it is when it is closed last. */
  readonly pin: SqliteConnection;
}

export function createWalControl({ path, connection, writer, pin }: WalControlParts): WalControl & Disposable {
  const release = (): void => {
    if (pin.database.isTransaction) pin.database.exec("rollback");
  };
  const hold = (): void => {
    release();
    pin.database.exec("begin");
    pin.database.prepare("select count(*) from sqlite_schema").get();
  };
  const exclusive: ExclusiveWal = {
    async checkpoint() {
      release();
      const row = connection.database.prepare("pragma wal_checkpoint(restart)").get();
      const { log, checkpointed } = row as { log: number; checkpointed: number };
      if (checkpointed === log) return true;
      hold();
      return false;
    },
    async begin(mark = markOf(connection)) {
      await writePage(connection, mark);
      hold();
    },
  };
  hold();
  const control: WalControl & Disposable = {
    path,
    get mark() {
      return markOf(connection);
    },
    onCommit: () => {},
    exclusively: (work) => writer.exclusively(() => work(exclusive)),
    [Symbol.dispose]: () => pin[Symbol.dispose](),
  };
  writer.onCommit = () => control.onCommit();
  return control;
}

/** Nothing else uses SQLite's number for applications. */
function markOf({ database }: SqliteConnection): number {
  return (database.prepare("pragma user_version").get() as { user_version: number }).user_version;
}

/** Stores the number, also if it has not changed, and waits for other processes that write. */
async function writePage({ database }: SqliteConnection, mark: number): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return database.exec(`pragma user_version = ${mark}`);
    } catch (error) {
      if (!isBusy(error) || tries === MAX_TRIES) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
