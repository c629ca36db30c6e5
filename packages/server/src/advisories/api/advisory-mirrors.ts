/** Advisory mirrors: feeds that are imported repeatedly, with the rights of the identity that configured them. mirrors/ fetches them. */
import { create as createMessage } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { type AdvisoryMirror, AdvisoryMirrorStatusSchema, AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { type Handlers, implement, write } from "../../api/call/implement.ts";
import { getBody } from "../../api/resource/get.ts";
import { assertName, assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { assertGroupExists, create, prepareCreate, prepareUpdate, save } from "../../api/resource/write.ts";
import type { Grants } from "../../iam/grants/grants.ts";
import { serializeSession, withoutProviderSession } from "../../iam/identities/stored-session.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { type FieldViolation, notFound, permissionDenied } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { compileUrlCheck } from "../../outbound/url-check.ts";
import { type Destination, rightsIn, rightsOf } from "../import/remote/import-rights.ts";
import { kinds } from "../import/remote/import-row.ts";
import type { RemoteImports } from "../import/remote/remote-imports.ts";
import { advisoryMirrors, intervalOf, lockMirror, statusWith, storeStatus } from "../mirrors/mirror-resource.ts";
import { FIRST_MS, IDLE, lockRun, storeRun, UNKNOWN_FEED } from "../mirrors/mirror-schedule.ts";

const DEFAULT_INTERVAL_S = 6n * 3600n;
const MIN_INTERVAL_MS = 5 * 60_000;
const MAX_INTERVAL_MS = 365 * 24 * 3_600_000;

export interface AdvisoryMirrorsCollaborators {
  readonly pageTokens: PageTokens;
  readonly grants: Grants;
  readonly remoteImports: RemoteImports;
  /** Networks that the operator lets Holt speak to, also without TLS. */
  readonly outboundAllowCidrs: readonly string[];
  /** Uid of the identity that this installation began with; it is staff everywhere. */
  readonly bootstrapOwner: string;
}

export function advisoryMirrorsService(collaborators: AdvisoryMirrorsCollaborators) {
  const { outboundAllowCidrs, remoteImports } = collaborators;
  const urlViolations = compileUrlCheck("url", outboundAllowCidrs);
  const checked = { ...advisoryMirrors, check: (mirror: AdvisoryMirror) => assertValid(mirror, urlViolations) };
  const handlers: Handlers<typeof AdvisoryMirrorsService> = {
    // Foreign keys delete the run and the imports of a deleted mirror.
    ...standardMethods(AdvisoryMirrorsService, advisoryMirrors, collaborators),

    createAdvisoryMirror: write(async ({ parent, advisoryMirror: given }, call) => {
      const mirror = prepareCreate(checked, given, call.now);
      mirror.interval ??= createMessage(DurationSchema, { seconds: DEFAULT_INTERVAL_S });
      await assertGroupExists(parent, call.db);
      const session = await actingSession(mirror, parent, call, collaborators);
      const first = new Date(call.now.getTime() + FIRST_MS);
      mirror.identity = call.principal?.uid ?? "";
      mirror.status = createMessage(AdvisoryMirrorStatusSchema, { nextTime: timestampFromDate(first), counts: {} });
      const made = await create(advisoryMirrors, parent, mirror, call);
      const run = { mirror_uid: mirror.uid, session, next_time: first.toISOString(), failures: 0, ...UNKNOWN_FEED };
      await call.db.insertInto("advisory_mirror_run").values(run).execute();
      return made;
    }),

    updateAdvisoryMirror: write(async ({ advisoryMirror, updateMask }, call) => {
      const update = await prepareUpdate(checked, advisoryMirror, updateMask, call);
      const { current, next } = update;
      next.interval ??= createMessage(DurationSchema, { seconds: DEFAULT_INTERVAL_S });
      assertMayImport(next, call, collaborators);
      if (next.url !== current.url || next.kind !== current.kind)
        await startOver(next, await actingSession(next, parentOf(next.uid), call, collaborators), call);
      else if (intervalOf(next) < intervalOf(current)) await promote(next, call);
      return save(advisoryMirrors, update, call);
    }),

    runAdvisoryMirror: write(async ({ uid, full }, call) => {
      const mirror = await lockMirror(call.db, uid);
      const run = await lockRun(call.db, uid);
      if (mirror === undefined || run === undefined) throw notFound(advisoryMirrors.kind, uid);
      assertMayImport(mirror, call, collaborators);
      if (full) await storeRun(call.db, uid, UNKNOWN_FEED);
      if (run.import_uid === null && run.file === null) {
        await storeRun(call.db, uid, { next_time: call.now.toISOString() });
        await storeStatus(call.db, mirror, { nextTime: timestampFromDate(call.now) });
        call.db.afterCommit(remoteImports.wake);
      }
      return getBody(advisoryMirrors, uid, call.db);
    }),
  };
  return implement(AdvisoryMirrorsService, handlers, "AdvisoryMirror");
}

function assertValid(mirror: AdvisoryMirror, urlViolations: (url: string) => FieldViolation[]): void {
  assertName(mirror.name);
  const interval = mirror.interval === undefined ? MIN_INTERVAL_MS : intervalOf(mirror);
  assertNone([
    ...urlViolations(mirror.url),
    ...(kinds.has(mirror.kind)
      ? []
      : [{ field: "kind", description: "kind must be IMPORT_KIND_ADVISORIES or IMPORT_KIND_VULNERABILITIES" }]),
    ...(interval >= MIN_INTERVAL_MS && interval <= MAX_INTERVAL_MS
      ? []
      : [{ field: "interval", description: "interval must be from 5 minutes (300s) to 365 days" }]),
  ]);
}

/** @throws PERMISSION_DENIED if the caller may not import this, nor have it imported */
function assertMayImport(mirror: AdvisoryMirror, { principal, access }: WriteCall, { bootstrapOwner }: AdvisoryMirrorsCollaborators): void {
  const destination = { parent: parentOf(mirror.uid), kind: kindOf(mirror) };
  if (principal === undefined || !rightsIn(destination, principal, access, bootstrapOwner).mayImport) throw forStaff();
}

/** The session that a mirror of the caller acts with. @throws PERMISSION_DENIED if the session lacks the rights */
async function actingSession(
  mirror: AdvisoryMirror,
  parent: string,
  { principal, db }: WriteCall,
  collaborators: AdvisoryMirrorsCollaborators,
) {
  const kind = kindOf(mirror);
  const session = principal === undefined ? undefined : withoutProviderSession(principal);
  if (session !== undefined && (await rightsOf({ parent, kind }, session, collaborators, db)).mayImport) return serializeSession(session);
  if (kind === "vulnerabilities") throw forStaff();
  throw permissionDenied(
    "a mirror acts with the role bindings of its identity, and the rights of this sign-in end with the session: bind the identity to a role in the group",
  );
}

function kindOf({ kind }: AdvisoryMirror): Destination["kind"] {
  return kinds.get(kind) ?? "advisories";
}

function forStaff(): Error {
  return permissionDenied("vulnerability metadata is the same for all organizations; only the operator of the server can mirror it");
}

/** For another feed: drops the state of the old feed and its running import, and acts for the caller from now on. */
async function startOver(next: AdvisoryMirror, session: string, { db, now, principal }: WriteCall): Promise<void> {
  const first = new Date(now.getTime() + FIRST_MS);
  next.identity = principal?.uid ?? "";
  next.status = statusWith(next, { nextTime: timestampFromDate(first), error: "" });
  await storeRun(db, next.uid, { session, failures: 0, next_time: first.toISOString(), ...UNKNOWN_FEED, ...IDLE });
}

/** Applies a shorter interval to the next run, unless the mirror backs off from a failing feed. */
async function promote(next: AdvisoryMirror, { db, now }: WriteCall): Promise<void> {
  const time = new Date(now.getTime() + intervalOf(next));
  const run = await lockRun(db, next.uid);
  if (run === undefined || run.failures > 0 || run.next_time === null || run.next_time <= time.toISOString()) return;
  await storeRun(db, next.uid, { next_time: time.toISOString() });
  next.status = statusWith(next, { nextTime: timestampFromDate(time) });
}
