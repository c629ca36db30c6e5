/** Imports of advisories and vulnerability metadata: their files are sent here in pieces; what reads them is advisories/remote/. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type Import, ImportsService, type StartImportRequest } from "@holt/api/gen/holt/v1/imports_pb.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { implement, read, type WriteHandler, write } from "../../api/call/implement.ts";
import { assertGroupExists } from "../../api/resource/write.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { textOfSession } from "../../iam/identities/stored-session.ts";
import { failedPrecondition, invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { type Destination, type ImportRights, rightsIn } from "../import/remote/import-rights.ts";
import { findImport, type ImportRow, importFromRow, kinds, lockImport, readProblems } from "../import/remote/import-row.ts";
import { acknowledgePiece, beginImport, type StoredPiece, storePiece } from "../import/remote/import-upload.ts";
import { importGone } from "../mirrors/mirror-schedule.ts";
import { listImports } from "./list-imports.ts";

export function importsService(dependencies: ServiceDependencies) {
  const { pageTokens, remoteImports } = dependencies;
  return implement(
    ImportsService,
    {
      createImport: write(async ({ parent, kind: number, fileName }, call) => {
        const kind = kinds.get(number);
        if (kind === undefined) throw invalidArgument("kind", "kind must be IMPORT_KIND_ADVISORIES or IMPORT_KIND_VULNERABILITIES");
        assertFileName(fileName);
        await assertGroupExists(parent, call.db);
        rightsFor({ parent, kind }, call, dependencies);
        return importFromRow(
          await beginImport(call.db, { parent, kind, file_name: fileName, creator: call.principal?.uid ?? null }, call.now),
        );
      }),

      writeImport: writeHandler(dependencies),

      startImport: write(async (request, call) => startImport(request, call, dependencies)),

      getImport: read(async ({ uid }, call) => {
        const row = await findImport(call.db, uid);
        const message = importFromRow(row);
        const problems = await readProblems(call.db, uid);
        return { ...message, problems: problems.map((problem) => ({ ...problem, $typeName: "holt.v1.ImportProblem" as const })) };
      }),

      listImports: read((request, call) => listImports(request, call, pageTokens)),

      deleteImport: write(async ({ uid }, call) => {
        const row = await lockImport(call.db, uid);
        rightsFor(row, call, dependencies);
        await importGone(call.db, row, "its import was deleted", call.now);
        await call.db.deleteFrom("advisory_import").where("uid", "=", uid).execute();
        call.db.afterCommit(() => remoteImports.discard(uid, row.file));
        return create(EmptySchema);
      }),
    },
    "Import",
  );
}

function writeHandler({ remoteImports }: ServiceDependencies): WriteHandler<typeof ImportsService.method.writeImport, StoredPiece> {
  const { files, maxBytes } = remoteImports;
  return {
    kind: "write",
    async prepare({ uid, offset, data }, call) {
      if (offset < 0n) throw invalidArgument("offset", "offset must not be negative");
      // No file comes near what a number of JavaScript can say.
      const piece = { offset: Number(offset > BigInt(maxBytes) ? maxBytes + 1 : offset), bytes: data };
      const row = await findImport(call.db, uid);
      assertCreator(row, call);
      return storePiece(call.db, files, row, piece, maxBytes);
    },
    handle: async ({ uid }, { db, now }, piece) => importFromRow(await acknowledgePiece(db, uid, piece, now)),
  };
}

async function startImport({ uid, size }: StartImportRequest, call: WriteCall, dependencies: ServiceDependencies): Promise<Import> {
  const { db, principal, now } = call;
  const row = await lockImport(db, uid);
  assertCreator(row, call);
  // Its answer may have been lost.
  if (row.state !== "uploading") return importFromRow(row);
  const { received_bytes: received } = row;
  if (size !== 0n && BigInt(received) !== size)
    throw failedPrecondition("IMPORT_INCOMPLETE", `${received} of ${size} bytes were received: send the others first`);
  if (received === 0) throw failedPrecondition("IMPORT_INCOMPLETE", "nothing was received: send the file first");
  const { approves, mayDelete } = rightsFor(row, call, dependencies);
  const session = principal === undefined ? null : textOfSession(principal);
  const change = {
    state: "waiting" as const,
    start_time: now.toISOString(),
    session,
    approves: Number(approves),
    may_delete: Number(mayDelete),
  };
  await db.updateTable("advisory_import").set(change).where("uid", "=", uid).execute();
  db.afterCommit(dependencies.remoteImports.wake);
  return importFromRow({ ...row, ...change });
}

/** Others who may import would slip bytes of theirs into what is started with the creator's rights. @throws PERMISSION_DENIED */
function assertCreator({ creator }: ImportRow, { principal }: Call): void {
  if (principal === undefined || principal.uid !== creator) throw permissionDenied("only who began an import sends its file and starts it");
}

/** @throws PERMISSION_DENIED where the caller may not import this at all */
function rightsFor(destination: Destination, call: Call, { bootstrapOwner }: ServiceDependencies): ImportRights {
  const { principal, access } = call;
  const rights = principal === undefined ? undefined : rightsIn(destination, principal, access, bootstrapOwner);
  if (rights?.mayImport !== true)
    throw permissionDenied("vulnerability metadata is the same for all organizations, and only who runs the server imports it");
  return rights;
}

const MAX_FILE_NAME = 255;

function assertFileName(name: string): void {
  if (name.length > MAX_FILE_NAME || /[\p{Cc}\u2028\u2029]/u.test(name))
    throw invalidArgument("file_name", `file_name must have at most ${MAX_FILE_NAME} characters and no control characters`);
}
