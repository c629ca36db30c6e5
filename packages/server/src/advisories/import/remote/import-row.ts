/** The row of an import, and its message for clients. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Import, Import_State, type ImportCountsSchema, ImportKind, ImportSchema } from "@holt/api/gen/holt/v1/imports_pb.ts";
import type { Selectable } from "kysely";
import type { ReadDb, WriteDb } from "../../../db/store.ts";
import { parseSession } from "../../../iam/identities/stored-session.ts";
import { RELEASED } from "../../../jobs/lease.ts";
import { timestampFromText } from "../../../lib/clock.ts";
import { notFound } from "../../../lib/errors.ts";
import { rootOf } from "../../../lib/uid.ts";
import type { AdvisoryImportTable } from "../../tables.ts";

export type ImportRow = Selectable<AdvisoryImportTable>;

/** Problems of an import that are kept; further ones are only counted. */
export const MAX_PROBLEMS = 1000;

export const kinds: ReadonlyMap<ImportKind, ImportRow["kind"]> = new Map([
  [ImportKind.ADVISORIES, "advisories"],
  [ImportKind.VULNERABILITIES, "vulnerabilities"],
]);
const kindNumbers = new Map([...kinds].map(([number, kind]) => [kind, number]));
const states = {
  uploading: Import_State.UPLOADING,
  fetching: Import_State.FETCHING,
  waiting: Import_State.WAITING,
  running: Import_State.RUNNING,
  done: Import_State.DONE,
  failed: Import_State.FAILED,
} satisfies Record<ImportRow["state"], Import_State>;

const MAX_NAME = 255;

/** The file name of a URL: the last segment of its path, or its host. */
export function fileNameOf(url: string): string {
  const { pathname, host } = new URL(url);
  return (pathname.split("/").findLast((segment) => segment !== "") ?? host).slice(0, MAX_NAME);
}

export type NewImport = Pick<ImportRow, "uid" | "parent" | "kind" | "file_name" | "file"> & Partial<ImportRow>;

/** The row of an import that is created at this time. */
export function newImportRow(given: NewImport, time: string): ImportRow {
  return {
    org_uid: rootOf(given.parent),
    mirror_uid: null,
    creator: null,
    state: "uploading",
    received_bytes: 0,
    create_time: time,
    write_time: time,
    start_time: null,
    end_time: null,
    session: null,
    approves: 0,
    may_delete: 0,
    attempts: 0,
    due_time: null,
    ...RELEASED,
    read_count: 0,
    created_count: 0,
    updated_count: 0,
    unchanged_count: 0,
    problem_count: 0,
    error: "",
    url: null,
    etag: "",
    last_modified: "",
    digest: "",
    ...given,
  };
}

/** @throws NOT_FOUND */
export async function findImport(db: ReadDb, uid: string): Promise<ImportRow> {
  return found(uid, await db.selectFrom("advisory_import").selectAll().where("uid", "=", uid).executeTakeFirst());
}

/** Locks the row until the transaction ends. @throws NOT_FOUND */
export async function lockImport(db: WriteDb, uid: string): Promise<ImportRow> {
  return found(uid, await db.dialect.forUpdate(db.selectFrom("advisory_import").selectAll().where("uid", "=", uid)).executeTakeFirst());
}

function found(uid: string, row: ImportRow | undefined): ImportRow {
  if (row === undefined) throw notFound("Import", uid);
  return row;
}

/** The message without problems. */
export function importFromRow(row: ImportRow): Import {
  return create(ImportSchema, {
    uid: row.uid,
    kind: kindNumbers.get(row.kind) ?? ImportKind.UNSPECIFIED,
    fileName: row.file_name,
    state: states[row.state],
    receivedBytes: BigInt(row.received_bytes),
    counts: countsOf(row),
    error: row.error,
    createTime: timestampFromText(row.create_time),
    ...(row.start_time !== null && { startTime: timestampFromText(row.start_time) }),
    ...(row.end_time !== null && { endTime: timestampFromText(row.end_time) }),
    identity: row.session === null ? "" : parseSession(row.session).uid,
    mirror: row.mirror_uid ?? "",
    url: row.url ?? "",
  });
}

type Counted = Pick<ImportRow, "read_count" | "created_count" | "updated_count" | "unchanged_count" | "problem_count">;

export function countsOf(row: Counted): MessageInitShape<typeof ImportCountsSchema> {
  return {
    read: BigInt(row.read_count),
    created: BigInt(row.created_count),
    updated: BigInt(row.updated_count),
    unchanged: BigInt(row.unchanged_count),
    problems: BigInt(row.problem_count),
  };
}

export function readProblems(db: ReadDb, uid: string) {
  return db
    .selectFrom("advisory_import_problem")
    .select(["file", "position", "reason"])
    .where("import_uid", "=", uid)
    .orderBy("number")
    .limit(MAX_PROBLEMS)
    .execute();
}
