/** The settings of Python projects. A project is an artifact: publishing creates it, and these operations change its settings. */
import { create } from "@bufbuild/protobuf";
import {
  type ListPythonProjectsRequest,
  type PythonProject,
  PythonProject_Status,
  PythonProject_StatusSchema,
  PythonProjectSchema,
  PythonProjectsService,
} from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import { capabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import type { ListTerms } from "../../api/resource/list.ts";
import { assertNone } from "../../api/resource/names.ts";
import { parseOrderBy } from "../../api/resource/order-by.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import type { Dialect } from "../../db/dialect.ts";
import type { ReadDb } from "../../db/store.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { type FieldViolation, notFound } from "../../lib/errors.ts";
import { locationViolations } from "../python/project-locations.ts";
import { SETTINGS_COLUMNS, type StoredSettings } from "../python/project-settings.ts";
import { normalizeProject } from "../python/python-name.ts";
import { ofEcosystem } from "./artifacts.ts";
import { type AttestationCollaborators, listAttestations } from "./python-attestations.ts";

/** Lists read the rows of artifacts, whose bodies `showSettings` replaces. */
const projects = defineResource(PythonProjectSchema, {
  table: "library_artifact",
  filters: {},
  orderBy: ["uid", "name", "create_time", "update_time"],
  defaultOrder: "name",
});

/** Needed where a publisher must not decide: PEP 708 reserves `tracks` for those who manage the repository. */
const POLICY = capabilitySet([Capability.CAP_LIBRARIES_POLICY_UPDATE]);
const MAX_REASON = 500;

export function pythonProjectsService(collaborators: AttestationCollaborators) {
  const { pageTokens } = collaborators;
  const { listPythonProjects } = standardMethods(PythonProjectsService, projects, {
    pageTokens,
    show: (bodies, call) => showSettings(bodies, call.db),
    listTerms: (request, call) => termsOf(request as unknown as ListPythonProjectsRequest, call.db.dialect),
  });
  return implement(PythonProjectsService, {
    ...(listPythonProjects !== undefined && { listPythonProjects }),

    getPythonProject: read(async ({ uid }, { db }) => (await findProject(db, uid)).project),

    listPythonAttestations: read(async (request, call) => {
      await findProject(call.db, request.uid);
      return listAttestations(request, call, collaborators);
    }),

    updatePythonProject: write(async ({ pythonProject, updateMask }, call) => {
      const incoming = pythonProject as PythonProject;
      const wanted = call.db.selectFrom("library_artifact").select("uid").where("uid", "=", incoming.uid);
      await call.db.dialect.forUpdate(wanted).execute();
      const { project: current, key } = await findProject(call.db, incoming.uid);
      const next = applyMask(PythonProjectSchema, current, incoming, updateMask);
      next.status ||= PythonProject_Status.ACTIVE;
      assertNone(violationsOf(next, key));
      await assertMayDecide(current, next, call);
      return save(current, next, call);
    }),
  });
}

function termsOf({ name, orderBy }: ListPythonProjectsRequest, dialect: Dialect): ListTerms {
  const { column } = parseOrderBy(orderBy, projects);
  const ofPython = ofEcosystem(Ecosystem.PYTHON, column, dialect);
  if (name === "") return { conditions: [ofPython], counted: "python_artifact", isIndexed: column !== "uid" };
  // PostgreSQL allows no NUL in a text, so no name contains one.
  const isNamed = name.includes("\0") ? sql<boolean>`1 = 0` : sql<boolean>`key = ${normalizeProject(name)}`;
  return {
    conditions: [
      { seek: ofPython.seek, test: ofPython.seek },
      { seek: isNamed, test: isNamed },
    ],
  };
}

/** Replaces the bodies of artifacts by those of their settings. */
async function showSettings(bodies: readonly string[], db: ReadDb): Promise<string[]> {
  const uids = bodies.map((body) => (JSON.parse(body) as { readonly uid: string }).uid);
  const rows = await settingsOf(db)
    .where("uid", "in", uids.length === 0 ? [""] : uids)
    .execute();
  const byUid = new Map(rows.map((row) => [row.uid, row]));
  return uids.flatMap((uid) => {
    const row = byUid.get(uid);
    return row === undefined ? [] : [projects.encode(projectOf(row))];
  });
}

function settingsOf(db: ReadDb) {
  return db.selectFrom("library_artifact").select(["uid", "name", "key", ...SETTINGS_COLUMNS]);
}

/** @throws NOT_FOUND */
async function findProject(db: ReadDb, uid: string): Promise<{ readonly project: PythonProject; readonly key: string }> {
  const row = await settingsOf(db).where("uid", "=", uid).where("ecosystem", "=", Ecosystem.PYTHON).executeTakeFirst();
  if (row === undefined) throw notFound(projects.kind, uid.slice(0, 200));
  return { project: projectOf(row), key: row.key };
}

function projectOf({ uid, name, status, status_reason, tracks, alternate_locations }: StoredSettings & { uid: string; name: string }) {
  return create(PythonProjectSchema, {
    uid,
    name,
    status: status as PythonProject_Status,
    statusReason: status_reason,
    tracks: JSON.parse(tracks) as string[],
    alternateLocations: JSON.parse(alternate_locations) as string[],
  });
}

function violationsOf({ status, statusReason, tracks, alternateLocations }: PythonProject, key: string): FieldViolation[] {
  const isStatus = PythonProject_StatusSchema.value[status] !== undefined;
  const isReason = statusReason.length <= MAX_REASON && isCleanText(statusReason);
  const reasonViolation = { field: "status_reason", description: `must be one line of at most ${MAX_REASON} characters` };
  return [
    ...(isStatus ? [] : [{ field: "status", description: "must be a status that this server knows" }]),
    ...(isReason ? [] : [reasonViolation]),
    ...locationViolations("tracks", tracks, key),
    ...locationViolations("alternate_locations", alternateLocations, key),
  ];
}

/** @throws PERMISSION_DENIED */
async function assertMayDecide(current: PythonProject, next: PythonProject, { access, db }: WriteCall): Promise<void> {
  const isQuarantine = [current, next].some(({ status }) => status === PythonProject_Status.QUARANTINED);
  const changesStatus = current.status !== next.status || current.statusReason !== next.statusReason;
  const changesTracks = JSON.stringify(current.tracks) !== JSON.stringify(next.tracks);
  if (changesTracks || (isQuarantine && changesStatus)) await assertHolds({ kind: projects.kind, uid: next.uid }, POLICY, access, db);
}

async function save(current: PythonProject, next: PythonProject, call: WriteCall): Promise<PythonProject> {
  if (projects.encode(current) === projects.encode(next)) {
    call.changed = false;
    return current;
  }
  await call.db
    .updateTable("library_artifact")
    .set(({ eb }) => ({
      status: next.status,
      status_reason: next.statusReason,
      tracks: JSON.stringify(next.tracks),
      alternate_locations: JSON.stringify(next.alternateLocations),
      // The pages of the project change.
      serial: eb("serial", "+", 1),
    }))
    .where("uid", "=", next.uid)
    .execute();
  return next;
}
