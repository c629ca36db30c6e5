/**
 * Declares how the rows of tables belong to organizations. Each domain has these facts in its organization-tables.ts; the
 * export and import of an organization follow from them and from the schema.
 */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../db/store.ts";
import { isAtOrBelow, rangeAtOrBelow } from "../lib/uid.ts";
import type { Cell } from "./export-format.ts";

/** By the name of the table. Rows are imported in this order, so a table comes after those that it refers to. */
export type OrganizationTables = Readonly<Record<string, TableOwnership>>;

export type TableOwnership = CarriedTable | OtherTable;

/** A table whose rows stay with the installation. */
export interface OtherTable {
  /** The reason why no organization takes its rows along. */
  readonly stays: string;
}

export interface CarriedTable {
  /** The rows that an organization takes along. */
  rowsOf(organization: string): RawBuilder<boolean>;
  /**
   * Whether a row of an export belongs to the organization, where the row itself says so. An import checks other rows by
   * `rowsOf`, once all rows are there.
   */
  isOwned?(row: Readonly<Record<string, Cell | Uint8Array>>, organization: string): boolean;
  /** Reads the rows where no condition can find them, in the order in which they are inserted. `rowsOf` then matches no row. */
  read?(db: ReadDb, organization: string): AsyncIterable<Readonly<Record<string, Cell>>>;
  /**
   * Several organizations may need a row, which this key identifies on all servers. An import leaves rows that exist as
   * they are. Without it, all rows belong to one organization, and an import refuses a server that has any.
   */
  readonly sharedBy?: readonly string[];
  /**
   * The server keeps rows of a deleted organization. Says, in the order of the export, which rows it lacks when the organization returns.
   * Undefined if it has none.
   */
  newRows?(db: ReadDb, organization: string): Promise<((row: Readonly<Record<string, Cell | Uint8Array>>) => Promise<boolean>) | undefined>;
  /**
   * Digests of the blobs that the content of a row of an export names, apart from those in columns.
   * @throws Error for the operator if the content is damaged
   */
  blobsIn?(row: Readonly<Record<string, Cell | Uint8Array>>): readonly string[];
  /** The rows are imported only with the row that the column refers to, not where that one exists already. */
  readonly onlyWith?: { readonly column: string; readonly table: string };
  /** Columns with numbers of rows, which each server assigns anew, and the tables that they refer to. */
  readonly rowNumbers?: Readonly<Record<string, string>>;
  /** The column with positions in the feed of events. */
  readonly position?: string;
  /** Values that the export has instead of those of the row. Leases are always released. */
  readonly replaced?: Readonly<Record<string, RawBuilder<unknown>>>;
  readonly secret?: SealedColumn;
  /** The column has a hash that only servers with the same secrets key can check. */
  readonly keyedHash?: string;
  /** The rows are valid only on a server with the same base URL. */
  readonly needsBaseUrl?: true;
  /** Counts of groups that also exist for `/`, the parent of all organizations: names of their columns. */
  readonly rootCounts?: readonly string[];
}

/** A column that is sealed with the secrets key. */
export interface SealedColumn {
  readonly column: string;
  /** The context of the seal. @param uid value of the first column of the primary key */
  context(uid: string): string;
  /** The value of the column in a row without its secret; undefined if the row is left out. */
  readonly without?: string;
  /** Plural, for reports. */
  readonly what: string;
}

export function stays(why: string): OtherTable {
  return { stays: why };
}

/** Rows with the uid of the organization, or with one below it, in a column. */
export function owned(column: string, more: Omit<CarriedTable, "rowsOf" | "isOwned"> = {}): CarriedTable {
  return {
    rowsOf: (organization) => inOrganization(column, organization),
    isOwned: (row, organization) => isAtOrBelow(String(row[column]), organization),
    ...more,
  };
}

/** Rows that match a condition on the organization's rows of other tables. */
export function related(rowsOf: CarriedTable["rowsOf"], more: Omit<CarriedTable, "rowsOf"> = {}): CarriedTable {
  return { rowsOf, ...more };
}

export function inOrganization(column: string, organization: string): RawBuilder<boolean> {
  const { lower, upper } = rangeAtOrBelow(organization);
  return sql<boolean>`(${sql.ref(column)} >= ${lower} and ${sql.ref(column)} < ${upper})`;
}

/** Whether a column has one of the values that a column of the organization's rows in other tables has. */
export function isIn(
  column: string,
  organization: string,
  ...sources: readonly { readonly table: string; readonly column: string; readonly owner: string }[]
): RawBuilder<boolean> {
  const values = sources.map(
    (source) => sql`select ${sql.ref(source.column)} from ${sql.table(source.table)} where ${inOrganization(source.owner, organization)}`,
  );
  return sql<boolean>`${sql.ref(column)} in (${sql.join(values, sql` union `)})`;
}

export function isCarried(ownership: TableOwnership): ownership is CarriedTable {
  return !("stays" in ownership);
}
