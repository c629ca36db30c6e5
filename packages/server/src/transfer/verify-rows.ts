/** Refuses an export with rows of other organizations, or with names of their blobs: they would give its maker rights there. */
import { sql } from "kysely";
import type { BlobReference } from "../blobs/references.ts";
import type { ReadDb } from "../db/store.ts";
import type { TableShape } from "../db/table-columns.ts";
import { isAtOrBelow, parentOf } from "../lib/uid.ts";
import type { Cell } from "./export-format.ts";
import type { CarriedTable } from "./organization-tables.ts";
import { readOrganizationRows } from "./read-organization.ts";

type Row = Readonly<Record<string, Cell | Uint8Array>>;

/** Columns with uids of people, of roles of the server, and of identities elsewhere. */
const FOREIGN = new Set(["identity_uid", "linked_uid", "accepted_uid", "role_uid"]);

/** @returns a function that throws an Error for the operator unless the uids of a row place it in the organization */
export function createRowVerifier({ name, columns }: TableShape, { isOwned }: CarriedTable, organization: string): (row: Row) => void {
  const uids = columns.filter((column) => column.endsWith("_uid") && !FOREIGN.has(column));
  const hasParent = columns.includes("uid") && columns.includes("parent");
  return (row) => {
    const isInside = (column: string) => row[column] === null || row[column] === "" || isAtOrBelow(String(row[column]), organization);
    const isInPlace = !hasParent || (row.parent ?? "/") === parentOf(String(row.uid));
    if (isOwned?.(row, organization) === false || !isInPlace || !uids.every(isInside)) throw foreignRow(name, organization);
  };
}

/**
 * A row that names a blob gives its readers the content, so the export must have that content.
 * @param listed digests of the blobs that the export has
 * @returns a function that throws an Error for the operator if a row names another blob
 */
export function createBlobVerifier(
  { name, blobsIn }: Pick<TableShape, "name"> & Pick<CarriedTable, "blobsIn">,
  references: readonly BlobReference[],
  listed: ReadonlySet<string>,
): (row: Row) => void {
  const columns = references.filter(({ table }) => table === name).map(({ column }) => column);
  return (row) => {
    const named = [...columns.map((column) => String(row[column])), ...(blobsIn?.(row) ?? [])];
    const missing = named.find((digest) => !listed.has(digest));
    if (missing !== undefined)
      throw new Error(`a row of ${name} in the export names the blob ${missing}, which the export does not have; nothing was imported`);
  };
}

/** Rows that belong to the organization by its rows in other tables, so they can be verified only when all rows are there. */
export class UnverifiedTable {
  readonly #shape: TableShape;
  readonly #ownership: CarriedTable;
  #count = 0;
  /** Keys of a table that organizations share. */
  readonly #keys = new Set<string>();

  constructor(shape: TableShape, ownership: CarriedTable) {
    this.#shape = shape;
    this.#ownership = ownership;
  }

  /** Remembers a row of the export, which may be there already. */
  add(row: Row): void {
    const { sharedBy } = this.#ownership;
    this.#count++;
    if (sharedBy !== undefined) this.#keys.add(JSON.stringify(sharedBy.map((column) => row[column])));
  }

  /** @throws Error for the operator unless all rows belong to the organization */
  async verify(db: ReadDb, organization: string): Promise<void> {
    const isVerified =
      this.#ownership.sharedBy === undefined ? await this.#hasOnlyOwn(db, organization) : await this.#hasAllKeys(db, organization);
    if (!isVerified) throw foreignRow(this.#shape.name, organization);
  }

  /** The organization had no rows before. */
  async #hasOnlyOwn(db: ReadDb, organization: string): Promise<boolean> {
    const { rows } = await sql<{ count: number | string }>`select count(*) as count from ${sql.table(this.#shape.name)}
      where ${this.#ownership.rowsOf(organization)}`.execute(db);
    return Number(rows[0]?.count) === this.#count;
  }

  async #hasAllKeys(db: ReadDb, organization: string): Promise<boolean> {
    const shape = { ...this.#shape, columns: this.#ownership.sharedBy ?? [], bytes: [] };
    if (this.#keys.size > 0)
      for await (const key of readOrganizationRows(db, shape, this.#ownership, organization)) this.#keys.delete(JSON.stringify(key));
    return this.#keys.size === 0;
  }
}

/** Rows of `onlyWith` come with a row that is verified. */
export function isVerifiedLater({ isOwned, onlyWith }: CarriedTable): boolean {
  return isOwned === undefined && onlyWith === undefined;
}

function foreignRow(table: string, organization: string): Error {
  return new Error(`a row of ${table} in the export does not belong to the organization ${organization}; nothing was imported`);
}
