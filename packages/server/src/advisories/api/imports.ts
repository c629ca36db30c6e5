/** Imports of advisories and vulnerability metadata. Clients upload files here in chunks; import/remote/ reads them. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type Import, type ImportKind, ImportsService, type StartImportRequest } from "@holt/api/gen/holt/v1/imports_pb.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { implement, read, type WriteHandler, write } from "../../api/call/implement.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { assertGroupExists } from "../../api/resource/write.ts";
import { serializeSession } from "../../iam/identities/stored-session.ts";
import { failedPrecondition, invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { compileUrlCheck } from "../../outbound/url-check.ts";
import { type Destination, type ImportRights, rightsIn } from "../import/remote/import-rights.ts";
import { fileNameOf, findImport, type ImportRow, importFromRow, kinds, lockImport, readProblems } from "../import/remote/import-row.ts";
import { acknowledgeChunk, beginImport, type StoredChunk, storeChunk } from "../import/remote/import-upload.ts";
import type { RemoteImports } from "../import/remote/remote-imports.ts";
import { importDeleted } from "../mirrors/mirror-schedule.ts";
import { listImports } from "./list-imports.ts";

export interface ImportsCollaborators {
  readonly pageTokens: PageTokens;
  readonly remoteImports: RemoteImports;
  /** Networks that the operator lets Holt speak to, also without TLS. */
  readonly outboundAllowCidrs: readonly string[];
  /** Uid of the identity that this installation began with; it is staff everywhere. */
  readonly bootstrapOwner: string;
}

export function importsService(collaborators: ImportsCollaborators) {
  const { pageTokens, remoteImports, outboundAllowCidrs } = collaborators;
  const urlViolations = compileUrlCheck("url", outboundAllowCidrs);
  return implement(
    ImportsService,
    {
      createImport: write(async ({ parent, kind: number, fileName }, call) => {
        const kind = kindOf(number);
        assertFileName(fileName);
        await assertGroupExists(parent, call.db);
        rightsFor({ parent, kind }, call, collaborators);
        return importFromRow(
          await beginImport(call.db, { parent, kind, file_name: fileName, creator: call.principal?.uid ?? null }, call.now),
        );
      }),

      fetchImport: write(async ({ parent, kind: number, url }, call) => {
        const kind = kindOf(number);
        assertNone(urlViolations(url));
        await assertGroupExists(parent, call.db);
        const given = { parent, kind, file_name: fileNameOf(url), url, state: "fetching" as const };
        return fetchImport(given, call, collaborators);
      }),

      writeImport: writeHandler(collaborators),

      startImport: write(async (request, call) => startImport(request, call, collaborators)),

      getImport: read(async ({ uid }, call) => {
        const row = await findImport(call.db, uid);
        const message = importFromRow(row);
        const problems = await readProblems(call.db, uid);
        return { ...message, problems: problems.map((problem) => ({ ...problem, $typeName: "holt.v1.ImportProblem" as const })) };
      }),

      listImports: read((request, call) => listImports(request, call, pageTokens)),

      deleteImport: write(async ({ uid }, call) => {
        const row = await lockImport(call.db, uid);
        rightsFor(row, call, collaborators);
        await importDeleted(call.db, row, "its import was deleted", call.now);
        await call.db.deleteFrom("advisory_import").where("uid", "=", uid).execute();
        call.db.afterCommit(() => remoteImports.discard(uid, row.file));
        return create(EmptySchema);
      }),
    },
    "Import",
  );
}

function writeHandler({ remoteImports }: ImportsCollaborators): WriteHandler<typeof ImportsService.method.writeImport, StoredChunk> {
  const { files, maxBytes } = remoteImports;
  return {
    kind: "write",
    async prepare({ uid, offset, data }, call) {
      if (offset < 0n) throw invalidArgument("offset", "offset must not be negative");
      // An offset beyond the size limit is refused later; a number holds every offset below it exactly.
      const chunk = { offset: Number(offset > BigInt(maxBytes) ? maxBytes + 1 : offset), bytes: data };
      const row = await findImport(call.db, uid);
      assertCreator(row, call);
      return storeChunk(row, chunk, { db: call.db, files, maxBytes });
    },
    handle: async ({ uid }, { db, now }, chunk) => importFromRow(await acknowledgeChunk(db, uid, chunk, now)),
  };
}

async function startImport({ uid, size }: StartImportRequest, call: WriteCall, collaborators: ImportsCollaborators): Promise<Import> {
  const { db } = call;
  const row = await lockImport(db, uid);
  assertCreator(row, call);
  // The answer to an earlier call may have been lost.
  if (row.state !== "uploading") return importFromRow(row);
  const { received_bytes: received } = row;
  if (size !== 0n && BigInt(received) !== size)
    throw failedPrecondition("IMPORT_INCOMPLETE", `${received} of ${size} bytes were received: send the rest first`);
  if (received === 0) throw failedPrecondition("IMPORT_INCOMPLETE", "nothing was received: send the file first");
  const change = { state: "waiting" as const, ...actingColumns(row, call, collaborators) };
  await db.updateTable("advisory_import").set(change).where("uid", "=", uid).execute();
  db.afterCommit(collaborators.remoteImports.wake);
  return importFromRow({ ...row, ...change });
}

type NewFetch = Pick<ImportRow, "parent" | "kind" | "file_name" | "url" | "state">;

async function fetchImport(given: NewFetch, call: WriteCall, collaborators: ImportsCollaborators): Promise<Import> {
  const { db, now, principal } = call;
  const acting = actingColumns(given, call, collaborators);
  const row = await beginImport(db, { ...given, ...acting, creator: principal?.uid ?? null }, now);
  await db.insertInto("advisory_import_fetch").values({ import_uid: row.uid, create_time: row.create_time, attempts: 0 }).execute();
  db.afterCommit(collaborators.remoteImports.wake);
  return importFromRow(row);
}

/** The columns of an import that is started now, for the caller. @throws PERMISSION_DENIED */
function actingColumns(destination: Destination, call: WriteCall, collaborators: ImportsCollaborators) {
  const { approves, mayDelete } = rightsFor(destination, call, collaborators);
  const session = call.principal === undefined ? null : serializeSession(call.principal);
  return { start_time: call.now.toISOString(), session, approves: Number(approves), may_delete: Number(mayDelete) };
}

/** @throws INVALID_ARGUMENT */
function kindOf(number: ImportKind): ImportRow["kind"] {
  const kind = kinds.get(number);
  if (kind === undefined) throw invalidArgument("kind", "kind must be IMPORT_KIND_ADVISORIES or IMPORT_KIND_VULNERABILITIES");
  return kind;
}

/** An import runs with the rights of its creator, so no other caller may add bytes to it. @throws PERMISSION_DENIED */
function assertCreator({ creator }: ImportRow, { principal }: Call): void {
  if (principal === undefined || principal.uid !== creator)
    throw permissionDenied("only the creator of an import can send its file and start it");
}

/** @throws PERMISSION_DENIED if the caller may not import this */
function rightsFor(destination: Destination, call: Call, { bootstrapOwner }: ImportsCollaborators): ImportRights {
  const { principal, access } = call;
  const rights = principal === undefined ? undefined : rightsIn(destination, principal, access, bootstrapOwner);
  if (rights?.mayImport !== true)
    throw permissionDenied("vulnerability metadata is the same for all organizations; only the operator of the server can import it");
  return rights;
}

const MAX_FILE_NAME = 255;

function assertFileName(name: string): void {
  if (name.length > MAX_FILE_NAME || /[\p{Cc}\u2028\u2029]/u.test(name))
    throw invalidArgument("file_name", `file_name must have at most ${MAX_FILE_NAME} characters and no control characters`);
}
