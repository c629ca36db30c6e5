/**
 * Exports an organization of a running server: its rows as they are at one moment, then its blobs. An interrupted export
 * leaves its blobs, and the next one continues with them.
 */
import { Readable } from "node:stream";
import { sql } from "kysely";
import { type BlobMirror, openBlobMirror } from "../backup/blob-mirror.ts";
import { BLOBS, blobPath, type ListedBlob, writeHashed } from "../backup/snapshot.ts";
import type { BackupTarget } from "../backup/target.ts";
import { type BlobReference, contentReferences } from "../blobs/references.ts";
import type { BlobStore } from "../blobs/store.ts";
import type { ReadDb, Store } from "../db/store.ts";
import { readTableShapes, type TableShape } from "../db/table-columns.ts";
import {
  BLOB_LIST,
  type Cell,
  type ExportedOrganization,
  type ExportedTable,
  FORMAT,
  MANIFEST,
  ROWS,
  readJson,
  UNFINISHED,
  verifyExport,
  writeJson,
  writeRows,
} from "./export-format.ts";
import { type CarriedTable, inOrganization, isCarried, type OrganizationTables } from "./organization-tables.ts";
import { readOrganizationRows } from "./read-organization.ts";
import { createTransferKey, isSecret, type ServerSecrets, sealForTransfer } from "./sealed-values.ts";

export interface ExportParts {
  readonly target: BackupTarget;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly tables: OrganizationTables;
  readonly references: readonly BlobReference[];
  readonly organization: { readonly uid: string; readonly name: string };
  /** Undefined before a server has made a secrets key. */
  readonly secrets: ServerSecrets | undefined;
  /** Empty to leave secrets out. */
  readonly passphrase: string;
  readonly baseUrl: string;
  readonly version: string;
  readonly schema: number;
  readonly now: Date;
}

export interface TransferReport {
  /** Begins a part of the work. */
  step(text: string): void;
  progress(part: { readonly blobs: number; readonly bytes: number }): void;
  problem(text: string): void;
}

export interface ExportResult {
  readonly exported: ExportedOrganization;
  /** Blobs that content needs and the server has not, and damaged ones. */
  readonly problems: number;
}

/** @throws Error for the operator; the export is not complete then */
export async function exportOrganization(parts: ExportParts, report: TransferReport): Promise<ExportResult> {
  const { target, store, organization, version, schema, baseUrl, now } = parts;
  await claimTarget(target, organization.uid);
  report.step("copying rows");
  const { tables, positions, blobs, secrets } = await store.snapshot((db) => copyRows(db, parts));
  report.step("copying blobs");
  const { listed, problems } = await copyBlobs(await openBlobMirror(target, parts.blobs), blobs, report);
  const file = await writeHashed(target, BLOB_LIST, Readable.from(linesOf(listed)));
  await removeOtherBlobs(target, listed);
  report.step("verifying");
  const totals = { count: listed.length, bytes: listed.reduce((sum, { size }) => sum + size, 0), file };
  const time = now.toISOString();
  const exported = { format: FORMAT, version, schema, time, organization, baseUrl, secrets, tables, positions, blobs: totals } as const;
  await verifyExport(target, exported);
  await writeJson(target, MANIFEST, exported);
  await target.remove(UNFINISHED);
  return { exported, problems };
}

/** @throws Error for the operator unless the target is empty or has an export of this organization */
async function claimTarget(target: BackupTarget, uid: string): Promise<void> {
  const complete = await readJson<ExportedOrganization>(target, MANIFEST);
  const begun = await readJson<{ organization: string }>(target, UNFINISHED);
  const other = [complete?.organization.uid, begun?.organization].find((found) => found !== undefined && found !== uid);
  if (other !== undefined) throw new Error(`${target.name} has an export of the organization ${other}; name another folder`);
  if (complete === undefined && begun === undefined)
    for (const folder of [BLOBS, ROWS, "snapshots"])
      for await (const _ of target.list(folder)) throw new Error(`${target.name} is not empty and has no export of this organization`);
  await writeJson(target, UNFINISHED, { organization: uid });
  await target.remove(MANIFEST);
  for await (const { path } of target.list(ROWS)) await target.remove(path);
}

interface CopiedRows {
  readonly tables: readonly ExportedTable[];
  readonly positions: ExportedOrganization["positions"];
  readonly blobs: readonly ListedBlob[];
  readonly secrets: ExportedOrganization["secrets"];
}

async function copyRows(db: ReadDb, parts: ExportParts): Promise<CopiedRows> {
  const { target, tables, organization, references } = parts;
  const secrets = new ExportedSecrets(parts);
  const shapes = await readTableShapes(db);
  const copied: ExportedTable[] = [];
  const positions: number[] = [];
  for (const [name, ownership] of Object.entries(tables)) {
    const shape = shapes.get(name);
    if (!isCarried(ownership) || shape === undefined) continue;
    const rows = secrets.seal(shape, ownership, readOrganizationRows(db, shape, ownership, organization.uid));
    copied.push(await writeRows(target, name, shape.columns, rows));
    if (ownership.position !== undefined) positions.push(...(await positionsOf(db, name, ownership, organization.uid)));
  }
  const bounds = positions.length === 0 ? null : { first: Math.min(...positions), last: Math.max(...positions) };
  return { tables: copied, positions: bounds, blobs: await blobsOf(db, references, organization.uid), secrets: secrets.summary() };
}

async function positionsOf(db: ReadDb, table: string, { position = "", rowsOf }: CarriedTable, organization: string): Promise<number[]> {
  const column = sql.ref(position);
  const { rows } = await sql<{ first: number | null; last: number | null }>`select min(${column}) as first, max(${column}) as last
    from ${sql.table(table)} where ${rowsOf(organization)}`.execute(db);
  return rows.flatMap(({ first, last }) => [first, last]).filter((value) => value !== null);
}

async function blobsOf(db: ReadDb, references: readonly BlobReference[], organization: string): Promise<readonly ListedBlob[]> {
  const digests = contentReferences(references).map(
    ({ table, column, holder }) => sql`select ${sql.ref(column)} from ${sql.table(table)} where ${inOrganization(holder, organization)}`,
  );
  const { rows } = await sql<ListedBlob>`select digest, size from blob
    where digest in (${sql.join(digests, sql` union `)}) order by digest`.execute(db);
  return rows;
}

async function copyBlobs(mirror: BlobMirror, blobs: readonly ListedBlob[], report: TransferReport) {
  const listed: ListedBlob[] = [];
  let seen = { blobs: 0, bytes: 0 };
  let problems = 0;
  await mirror.copy(blobs, (blob, outcome) => {
    seen = { blobs: seen.blobs + 1, bytes: seen.bytes + blob.size };
    report.progress(seen);
    if (outcome === "present" || outcome === "copied") listed.push(blob);
    else {
      problems++;
      report.problem(`the server's blob ${blob.digest} is ${outcome}; the export does not have it`);
    }
  });
  return { listed: listed.sort((a, b) => (a.digest < b.digest ? -1 : 1)), problems };
}

function* linesOf(blobs: readonly ListedBlob[]): Generator<Buffer> {
  for (const { digest, size } of blobs) yield Buffer.from(`${digest} ${size}\n`);
}

/** An earlier export of the organization may have blobs that it has not any more. */
async function removeOtherBlobs(target: BackupTarget, listed: readonly ListedBlob[]): Promise<void> {
  const needed = new Set(listed.map(({ digest }) => blobPath(digest)));
  for await (const { path } of target.list(BLOBS)) if (!needed.has(path)) await target.remove(path);
}

/** Seals the secrets of rows for the export, or leaves them out and counts them. */
class ExportedSecrets {
  readonly #server: ServerSecrets | undefined;
  readonly #key: ReturnType<typeof createTransferKey> | undefined;
  readonly #leftOut: Record<string, number> = {};

  constructor({ secrets, passphrase }: ExportParts) {
    this.#server = secrets;
    this.#key = passphrase === "" || secrets === undefined ? undefined : createTransferKey(passphrase);
  }

  async *seal({ columns, key }: TableShape, { secret }: CarriedTable, rows: AsyncIterable<Cell[]>): AsyncIterable<Cell[]> {
    const at = columns.indexOf(secret?.column ?? "");
    const uidAt = columns.indexOf(key[0] ?? "");
    for await (const row of rows) {
      const value = row[at];
      if (secret === undefined || !isSecret(secret, value)) {
        yield row;
      } else if (this.#key !== undefined && this.#server !== undefined) {
        yield row.with(at, sealForTransfer(this.#key.key, this.#server, value, secret.context(String(row[uidAt]))));
      } else {
        this.#leftOut[secret.what] = (this.#leftOut[secret.what] ?? 0) + 1;
        if (secret.without !== undefined) yield row.with(at, secret.without);
      }
    }
  }

  summary(): ExportedOrganization["secrets"] {
    return { fingerprint: this.#server?.fingerprint ?? "", key: this.#key?.sealed ?? null, leftOut: this.#leftOut };
  }
}
