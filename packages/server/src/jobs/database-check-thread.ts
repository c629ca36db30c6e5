/** Runs in a thread of database-check.ts: lists the tables of an SQLite file, or checks one of them. */
import { findDamage, listTables } from "../db/sqlite-check.ts";
import { doJobs } from "./job-thread.ts";

export interface CheckJob {
  readonly path: string;
  /** Undefined to list the tables. */
  readonly table: string | undefined;
}

doJobs(async ({ path, table }: CheckJob) => (table === undefined ? listTables(path) : findDamage(path, table)));
