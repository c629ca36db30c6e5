/** Generates RPM databases in the form of SQLite that are slow or large to read. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const PACKAGES = "create table Packages (hnum integer primary key autoincrement, blob blob not null)";
/** A query with this number of rows. */
const rows = (count: number) => `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select`;
/** The number of index entries, the bytes of data, and entries of tag 0. */
const headerOf = (entries: number) => `unhex('${entries.toString(16).padStart(8, "0")}00000000' || hex(zeroblob(${entries * 16})))`;

const statements: Readonly<Record<string, readonly string[]>> = {
  "many packages": [PACKAGES, `insert into Packages (blob) ${rows(100_000)} zeroblob(16) from n`],
  "headers with many tags": [PACKAGES, `insert into Packages (blob) ${rows(20)} ${headerOf(60_000)} from n`],
  "a header that claims more tags than it has": [PACKAGES, `insert into Packages (blob) values (x'ffffffff00000000')`],
  "one large header": [PACKAGES, "insert into Packages (blob) values (zeroblob(16000000))"],
  "many large headers": [PACKAGES, `insert into Packages (blob) ${rows(40)} zeroblob(1000000) from n`],
  "headers of text": [PACKAGES, `insert into Packages (blob) ${rows(10_000)} 'text' from n`],
  "a wide table": [
    `create table Packages (hnum integer primary key autoincrement, blob blob not null, ${Array.from({ length: 1900 }, (_, i) => `c${i}`)})`,
  ],
  "many tables": [PACKAGES, ...Array.from({ length: 5_000 }, (_, i) => `create table t${i} (a)`)],
  "many triggers": [
    PACKAGES,
    ...Array.from({ length: 2_000 }, (_, i) => `create trigger t${i} after insert on Packages begin select 1; end`),
  ],
  "no packages and many free pages": [
    PACKAGES,
    `insert into Packages (blob) ${rows(2_000)} zeroblob(10000) from n`,
    "delete from Packages",
  ],
};

/** The names of the databases. */
export const rpmDatabases = Object.keys(statements);

export async function hostileRpmDatabase(name: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "holt-test-rpm-"));
  try {
    const path = join(folder, "rpmdb.sqlite");
    using database = new DatabaseSync(path);
    database.exec(`pragma journal_mode = off; begin; ${(statements[name] ?? []).join("; ")}; commit`);
    return await readFile(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
