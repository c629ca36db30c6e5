/** Creates, updates and deletes advisories for version 1 of the API. */
import { clone, create } from "@bufbuild/protobuf";
import {
  type Advisory,
  AdvisorySchema,
  type CreateAdvisoryRequest,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { assertNone } from "../../api/resource/names.ts";
import { assertGroupExists, isDuplicate } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from "../../lib/errors.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { isUid, newUid, parentOf } from "../../lib/uid.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { newAdvisoryId } from "../model/advisory-id.ts";
import { advisoryViolations, sizeViolations } from "../model/advisory-rules.ts";
import { componentOf } from "../model/versions.ts";
import { aboutOf, deriveAdvisory } from "../storage/derive.ts";
import { type LoadedAdvisory, loadForUpdate } from "../storage/load.ts";
import { storeAdvisories } from "../storage/store.ts";
import { addEvents, assertEvents, assertMayDecide } from "./new-events.ts";

const encode = compileJsonEncoder(AdvisorySchema);

export async function createAdvisory(
  { parentId, advisory: given = create(AdvisorySchema) }: CreateAdvisoryRequest,
  call: WriteCall,
  { advisoryPrefix }: VendorProfile,
): Promise<Advisory> {
  const id = newUid(parentId);
  if (!isUid(newUid(id)))
    throw invalidArgument("parent_id", "the parent is too deep in the tree: an advisory and its events need two of the 64 levels");
  const now = timestampFromDate(call.now);
  const advisory = create(AdvisorySchema, {
    ...aboutFieldsOf(given),
    id,
    advisoryId: given.advisoryId || newAdvisoryId(advisoryPrefix),
    author: given.author || (call.principal?.uid ?? ""),
    createdAt: now,
    updatedAt: now,
    ...(given.legacyAdvisoryID !== undefined && { legacyAdvisoryID: given.legacyAdvisoryID }),
  });
  assertNone(advisoryViolations(advisory));
  assertEvents(given.events, (index) => `events[${index}].`);
  await assertGroupExists(parentId, call.db);
  advisory.events = await addEvents(advisory, given.events, call);
  await store(call.db, undefined, advisory);
  return advisory;
}

/** Replaces the artifact, component, aliases and legacy id. Author and advisory id stay unless they are given; events stay. */
export async function updateAdvisory(given: Advisory, call: WriteCall): Promise<Advisory> {
  const loaded = await loadLive(call.db, given.id);
  const { advisory } = loaded;
  const { legacyAdvisoryID } = given;
  const next = create(AdvisorySchema, {
    ...aboutFieldsOf(given),
    id: advisory.id,
    advisoryId: given.advisoryId || advisory.advisoryId,
    author: given.author || advisory.author,
    events: advisory.events,
    ...(advisory.createdAt && { createdAt: advisory.createdAt }),
    ...(advisory.updatedAt && { updatedAt: advisory.updatedAt }),
    ...(legacyAdvisoryID !== undefined && { legacyAdvisoryID }),
  });
  assertNone(advisoryViolations(next));
  // An approved advisory would describe another subject: that needs the right to decide.
  if (isApproved(advisory) && subjectOf(next) !== subjectOf(advisory)) await assertMayDecide(advisory, call);
  return saveAdvisory(loaded, next, call);
}

/** Marks the advisory as deleted; Get still finds it. */
export async function deleteAdvisory(id: string, call: WriteCall): Promise<void> {
  const { row, advisory } = await load(call.db, id);
  if (advisory.deletedAt !== undefined) {
    call.changed = false;
    return;
  }
  const now = timestampFromDate(call.now);
  await storeAdvisories(call.db, [{ before: row, after: deriveAdvisory({ ...advisory, updatedAt: now, deletedAt: now }) }]);
}

/** Loads and locks the advisory. @throws NOT_FOUND; FAILED_PRECONDITION if it is deleted */
export async function loadLive(db: WriteDb, id: string): Promise<LoadedAdvisory> {
  const loaded = await load(db, id);
  if (loaded.advisory.deletedAt !== undefined)
    throw failedPrecondition("ADVISORY_DELETED", "the advisory is deleted and cannot be changed");
  return loaded;
}

/** Stores `next` with a new update time, unless it equals the stored advisory. */
export async function saveAdvisory({ row, advisory }: LoadedAdvisory, next: Advisory, call: WriteCall): Promise<Advisory> {
  if (encode(next) === encode(advisory)) {
    call.changed = false;
    return advisory;
  }
  const after = clone(AdvisorySchema, next);
  after.updatedAt = timestampFromDate(call.now);
  await store(call.db, row, after);
  return after;
}

async function load(db: WriteDb, id: string): Promise<LoadedAdvisory> {
  const [loaded] = await loadForUpdate(db, [id]);
  if (loaded === undefined) throw notFound("Advisory", id);
  return loaded;
}

async function store(db: WriteDb, before: LoadedAdvisory["row"] | undefined, after: Advisory): Promise<void> {
  const derived = deriveAdvisory(after);
  assertNone(sizeViolations(after, derived.row));
  if (before?.about !== derived.row.about) await claimPlace(after, db);
  await storeAdvisories(db, [{ before, after: derived }]).catch((thrown) => {
    // A concurrent write took the place after the check.
    throw isDuplicate(thrown) ? taken(after, after.advisoryId) : thrown;
  });
}

/**
 * A group has at most one advisory for an artifact and component. A deleted one gives up its place; until then it keeps imports from
 * creating it again.
 */
async function claimPlace(advisory: Advisory, db: WriteDb): Promise<void> {
  const parent = parentOf(advisory.id);
  const query = db
    .selectFrom("advisory")
    .select(["uid", "delete_time"])
    .where("parent", "=", parent)
    .where("about", "=", aboutOf(advisory));
  const other = await db.dialect.forUpdate(query).executeTakeFirst();
  if (other === undefined || other.uid === advisory.id) return;
  if (other.delete_time === null) throw taken(advisory, other.uid);
  await db.updateTable("advisory").set({ about: other.uid }).where("uid", "=", other.uid).execute();
}

function taken({ advisoryId }: Advisory, uid: string): Error {
  return alreadyExists("Advisory", uid, `the group has an advisory ${advisoryId} about this artifact and component`);
}

function isApproved({ events }: Advisory): boolean {
  return events.some(({ status }) => status === ReviewStatus.APPROVED);
}

/** The subject of the advisory's events. */
function subjectOf(advisory: Advisory): string {
  return JSON.stringify([aboutOf(advisory), advisory.aliases, advisory.legacyAdvisoryID ?? ""]);
}

function aboutFieldsOf(given: Advisory) {
  const { artifactType, artifactName, artifactArchitecture, aliases } = given;
  return { artifactType, artifactName, artifactArchitecture, aliases, ...componentOf(given) };
}
