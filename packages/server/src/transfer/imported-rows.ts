/** Inserts the rows of an organization in the transaction of its import, with the numbers and secrets of this server. */
import { type RawBuilder, sql } from "kysely";
import type { BackupTarget } from "../backup/target.ts";
import { appendCountsOf } from "../db/count-check.ts";
import { addRows, correctCounts, type ResourceCount } from "../db/resource-count.ts";
import type { WriteDb } from "../db/store.ts";
import type { TableShape } from "../db/table-columns.ts";
import { ConstraintError } from "../db/transaction.ts";
import { isAtOrBelow } from "../lib/uid.ts";
import { type Cell, type ExportedTable, readRows } from "./export-format.ts";
import type { ImportParts, ImportResult } from "./import-organization.ts";
import { type CarriedTable, isCarried } from "./organization-tables.ts";
import { isSecret, openFromTransfer } from "./sealed-values.ts";
import { createBlobVerifier, createRowVerifier, isVerifiedLater, UnverifiedTable } from "./verify-rows.ts";

type Row = Record<string, Cell | Buffer>;

interface RowsParts extends ImportParts {
  /** The digests of the blobs that the export has. */
  readonly listed: ReadonlySet<string>;
}

/** The state of one attempt. */
export class ImportedRows {
  readonly #db: WriteDb;
  readonly #parts: RowsParts;
  readonly #shapes: ReadonlyMap<string, TableShape>;
  /** The numbers of rows here, by their numbers in the export, of tables that others refer to. */
  readonly #numbers = new Map<string, Map<Cell, number>>();
  /** The first columns of the keys of inserted rows, of tables that organizations share. */
  readonly #inserted = new Map<string, Set<string>>();
  /** Tables whose rows can be verified only when all rows are there. */
  readonly #unverified: UnverifiedTable[] = [];
  readonly #leftOut = new Map<string, number>();
  #shift: number | undefined;
  #rows = 0;
  #present = 0;

  constructor(db: WriteDb, parts: RowsParts, shapes: ReadonlyMap<string, TableShape>) {
    this.#db = db;
    this.#parts = parts;
    this.#shapes = shapes;
    for (const [what, count] of Object.entries(parts.exported.secrets.leftOut)) this.#leftOut.set(what, count);
  }

  async insert(target: BackupTarget, table: ExportedTable): Promise<void> {
    const ownership = this.#parts.tables[table.name];
    const shape = this.#shapes.get(table.name);
    if (ownership === undefined || !isCarried(ownership) || shape === undefined) throw new Error(`there is no table ${table.name}`);
    if (ownership.position !== undefined) await this.#reservePositions();
    const { exported, references, listed } = this.#parts;
    const { uid } = exported.organization;
    const isNew = await ownership.newRows?.(this.#db, uid);
    const verifiers = [
      createRowVerifier(shape, ownership, uid),
      createBlobVerifier({ ...ownership, name: shape.name }, references, listed),
    ];
    const destination = { shape, ownership, verifiers };
    const unverified = isVerifiedLater(ownership) ? new UnverifiedTable(shape, ownership) : undefined;
    if (unverified !== undefined) this.#unverified.push(unverified);
    let batch: Row[] = [];
    for (const file of table.files)
      for await (const cells of readRows(target, file)) {
        const row = this.#rowOf(cells, table, destination);
        if (row === undefined) continue;
        if (isNew !== undefined && !(await isNew(row))) {
          this.#present++;
          continue;
        }
        unverified?.add(row);
        batch.push(row);
        if (batch.length < this.#db.dialect.rowsPerInsert) continue;
        await this.#insertBatch(batch, destination);
        batch = [];
      }
    if (batch.length > 0) await this.#insertBatch(batch, destination);
    for (const column of ownership.rootCounts ?? []) await this.#addToRoot(shape, column);
  }

  async #reservePositions(): Promise<void> {
    const { positions } = this.#parts.exported;
    this.#shift ??= positions === null ? 0 : await this.#parts.reservePositions(this.#db, positions);
  }

  /** @returns undefined for a row that is left out */
  #rowOf(cells: readonly Cell[], { columns }: ExportedTable, { shape, ownership, verifiers }: Destination): Row | undefined {
    const row: Row = Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? null]));
    for (const verify of verifiers) verify(row);
    const { onlyWith, rowNumbers = {}, position, secret } = ownership;
    if (onlyWith !== undefined && !this.#inserted.get(onlyWith.table)?.has(String(row[onlyWith.column]))) return undefined;
    if (!this.#isUsable(ownership)) return undefined;
    for (const [column, table] of Object.entries(rowNumbers)) {
      const number = row[column] as Cell;
      if (number !== null)
        row[column] = this.#numbers.get(table)?.get(number) ?? fail(`a row of ${shape.name} refers to no row of ${table}`);
    }
    if (position !== undefined && row[position] !== null) row[position] = Number(row[position]) + (this.#shift ?? 0);
    for (const column of shape.bytes) row[column] = Buffer.from(String(row[column]), "base64");
    return secret === undefined ? row : this.#withSecret(row, shape, secret);
  }

  #isUsable({ keyedHash, needsBaseUrl, secret }: CarriedTable): boolean {
    const { exported, secrets, baseUrl } = this.#parts;
    const reason =
      keyedHash !== undefined && exported.secrets.fingerprint !== secrets.fingerprint
        ? keyedHash
        : needsBaseUrl && exported.baseUrl !== baseUrl
          ? (secret?.what ?? "ways to sign in of accounts")
          : undefined;
    if (reason !== undefined) this.#leaveOut(reason);
    return reason === undefined;
  }

  #withSecret(row: Row, { key }: TableShape, secret: NonNullable<CarriedTable["secret"]>): Row | undefined {
    const value = row[secret.column] as Cell;
    if (!isSecret(secret, value)) return row;
    const { transferKey, secrets } = this.#parts;
    if (transferKey !== undefined)
      return { ...row, [secret.column]: openFromTransfer(transferKey, secrets, value, secret.context(String(row[key[0] ?? ""]))) };
    this.#leaveOut(secret.what);
    return secret.without === undefined ? undefined : { ...row, [secret.column]: secret.without };
  }

  #leaveOut(what: string): void {
    this.#leftOut.set(what, (this.#leftOut.get(what) ?? 0) + 1);
  }

  async #insertBatch(batch: readonly Row[], { shape, ownership }: Destination): Promise<void> {
    const { name, numbered } = shape;
    const { sharedBy } = ownership;
    const columns = shape.columns.filter((column) => column !== numbered);
    const values = batch.map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`);
    const returned = [...(sharedBy ?? []), ...(numbered === undefined ? [] : [numbered])];
    const returning = returned.length === 0 ? sql`` : sql`returning ${listOf(returned)}`;
    const { rows } = await sql<Row>`insert into ${sql.table(name)} (${listOf(columns)}) values ${sql.join(values)}
      ${onConflict(sharedBy, numbered)} ${returning}`
      .execute(this.#db)
      .catch((error: unknown) => {
        throw explained(error, name);
      });
    const inserted = sharedBy === undefined ? batch.length : rows.length;
    this.#rows += inserted;
    this.#present += batch.length - inserted;
    if (numbered !== undefined) this.#rememberNumbers(batch, rows, { ...shape, numbered }, sharedBy);
    else if (sharedBy !== undefined) this.#rememberInserted(rows, name, sharedBy);
  }

  /** Rows without a key on all servers are numbered in the order in which they were inserted. */
  #rememberNumbers(batch: readonly Row[], rows: readonly Row[], shape: NumberedTable, sharedBy: readonly string[] = []): void {
    const { name, numbered } = shape;
    if (!this.#isReferredTo(name)) return;
    const numbers = this.#numbers.get(name) ?? new Map<Cell, number>();
    this.#numbers.set(name, numbers);
    const keyOf = (row: Row) => JSON.stringify(sharedBy.map((column) => row[column]));
    const byKey = new Map(rows.map((row) => [keyOf(row), Number(row[numbered])]));
    const inOrder = rows.map((row) => Number(row[numbered])).toSorted((a, b) => a - b);
    for (const [at, row] of batch.entries()) {
      const number = sharedBy.length > 0 ? byKey.get(keyOf(row)) : inOrder[at];
      if (number === undefined) throw new Error(`the database has not numbered a row of ${name}`);
      numbers.set(row[numbered] as Cell, number);
    }
  }

  #isReferredTo(table: string): boolean {
    return Object.values(this.#parts.tables).some(
      (ownership) => isCarried(ownership) && Object.values(ownership.rowNumbers ?? {}).includes(table),
    );
  }

  #rememberInserted(rows: readonly Row[], table: string, [column = ""]: readonly string[]): void {
    const isNeeded =
      this.#parts.countedRows.some((counted) => counted.table === table) ||
      Object.values(this.#parts.tables).some((ownership) => isCarried(ownership) && ownership.onlyWith?.table === table);
    if (!isNeeded) return;
    const keys = this.#inserted.get(table) ?? new Set<string>();
    this.#inserted.set(table, keys);
    for (const row of rows) keys.add(String(row[column]));
  }

  /** Adds the counts of the organization to those of `/`. */
  async #addToRoot({ name, columns, key }: TableShape, counted: string): Promise<void> {
    const [group = ""] = key;
    const values = columns.map((column) => {
      if (column === group) return sql`'/'`;
      return key.includes(column) || column === counted ? sql.ref(column) : sql`0`;
    });
    const count = sql.ref(counted);
    await sql`insert into ${sql.table(name)} (${listOf(columns)}) select ${sql.join(values)} from ${sql.table(name)}
      where ${sql.ref(group)} = ${this.#parts.exported.organization.uid}
      on conflict (${listOf(key)}) do update set ${count} = ${sql.table(name)}.${count} + excluded.${count}`.execute(this.#db);
  }

  /** Counts the rows of the organization, and the inserted rows of counted tables that organizations share. */
  async insertCounts(): Promise<void> {
    const { countedRows, exported } = this.#parts;
    const { uid } = exported.organization;
    await appendCountsOf(this.#db, countedRows, uid);
    for (const { kind, table, isOutsideTree } of countedRows) {
      const shared = [...(this.#inserted.get(table) ?? [])].filter((key) => !isAtOrBelow(key, uid));
      const counts = new Map<string, ResourceCount>();
      if (isOutsideTree) counts.set("/", { below: shared.length, direct: shared.length });
      else addRows(counts, shared, 1);
      if (shared.length > 0) await correctCounts(this.#db, kind, counts);
    }
  }

  /** Call it when all rows are there. @throws Error for the operator if the export has rows of other organizations */
  async verify(): Promise<void> {
    for (const table of this.#unverified) await table.verify(this.#db, this.#parts.exported.organization.uid);
  }

  result(): ImportResult {
    return { rows: this.#rows, present: this.#present, leftOut: this.#leftOut };
  }
}

type NumberedTable = TableShape & { readonly numbered: string };

function listOf(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(column)));
}

/** A statement returns only rows that it wrote, so the number of a row that exists is found by writing its key again. */
function onConflict(sharedBy: readonly string[] | undefined, numbered: string | undefined): RawBuilder<unknown> {
  if (sharedBy === undefined) return sql``;
  const [first = ""] = sharedBy;
  const action = numbered === undefined ? sql`nothing` : sql`update set ${sql.ref(first)} = ${sql.ref(`excluded.${first}`)}`;
  return sql`on conflict (${listOf(sharedBy)}) do ${action}`;
}

function explained(error: unknown, table: string): unknown {
  if (!(error instanceof ConstraintError)) return error;
  const reason = error.cause instanceof Error ? error.cause.message : error.message;
  return new Error(`a row of ${table} does not fit into this server: ${reason}`, { cause: error });
}

interface Destination {
  readonly shape: TableShape;
  readonly ownership: CarriedTable;
  /** Each throws an Error for the operator for a row that the export must not have. */
  readonly verifiers: readonly ((row: Row) => void)[];
}

function fail(message: string): never {
  throw new Error(message);
}
