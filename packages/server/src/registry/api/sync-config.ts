/** Repos that are synced from another repo: finds the source and copies its fields. Copies no images. */
import { fromJsonString } from "@bufbuild/protobuf";
import { CatalogTier, type Repo, RepoSchema, type SyncConfig } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { parseTime, timestampFromDate } from "../../lib/clock.ts";
import { type FieldViolation, type HoltError, invalidArgument, invalidArguments } from "../../lib/errors.ts";
import { isUid } from "../../lib/uid.ts";
import { findRepository } from "../names.ts";
import { OciError } from "../oci-error.ts";
import { registrySettingsOf } from "../registry-settings.ts";
import { inherit, inherited, isSameValue } from "../sync/inherited-fields.ts";
import { LIST_REPOS, MAX_CHAIN_LENGTH, mayFollow, type SyncGrants } from "../sync/sync-right.ts";

const DAYS_OF_SYNCING = 14;

export interface SyncConfigCollaborators {
  readonly grants: SyncGrants;
  /** Host, with its port where it has one, by which references to images name this server. */
  readonly registryHost: string;
  /** Whether callers set the fields that version 2 only shows, as they may in version 1. */
  readonly acceptsSyncOutputs?: boolean;
}

export interface SyncChange {
  readonly next: Repo;
  /** The stored repo; undefined for a new one. */
  readonly current: Repo | undefined;
  /** Uid of the repo's group or, of a stored repo, its own. */
  readonly place: string;
}

/**
 * Applies the sync configuration of a repo before the repo is stored: the source becomes a uid, the server's own fields are set, and the
 * fields of the source are copied.
 * @returns uid of the identity for which the repo is synced; null if it is not synced, or if that is not known
 * @throws INVALID_ARGUMENT if the source is not a repo, or a field contradicts the source
 */
export async function applySyncConfig(
  { next, current, place }: SyncChange,
  call: WriteCall,
  collaborators: SyncConfigCollaborators,
): Promise<string | null> {
  const config = next.syncConfig;
  if (config === undefined) return null;
  const before = current?.syncConfig;
  // A caller who changes other fields need not see the source, and the source need not exist any more.
  const sourceUid = config.source === before?.source ? config.source : await resolveSource(config.source, call, collaborators);
  config.source = sourceUid;
  await setOutputs(config, { before: before?.source === sourceUid ? before : undefined, place }, call, collaborators);
  if (sourceUid !== before?.source) await assertNoCircle(next.uid, sourceUid, call);
  const isUnchanged = before?.source === sourceUid;
  const follower = isUnchanged ? await followerOf(next.uid, sourceUid, call, collaborators.grants) : callerAsFollower(call);
  const source = follower.mayFollow ? await findSource(sourceUid, call) : undefined;
  if (source === undefined) {
    if (current !== undefined) inherit(next, current);
    return follower.sourceBy;
  }
  const violations = inherited.flatMap((one) => contradictions(source, next, current, one));
  if (violations.length > 0) throw invalidArguments(violations);
  inherit(next, source);
  if (before === undefined && next.description === "") next.description = source.description;
  return follower.sourceBy;
}

/** @param text a uid or `<organization>/[folder/…/]<name>`, with or without this registry's host in front */
async function resolveSource(text: string, { db, access }: WriteCall, { registryHost }: SyncConfigCollaborators): Promise<string> {
  if (text === "") throw invalidSource("source is required");
  const name = text.startsWith(`${registryHost}/`) ? text.slice(registryHost.length + 1) : text;
  const uid = isUid(name) ? name : await uidOfName(name);
  // A repo that the caller may not list does not exist for the caller.
  if (uid !== undefined && access.holds(LIST_REPOS, uid)) {
    const row = await db.selectFrom("repo").select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined) return uid;
  }
  throw invalidSource(`there is no repo "${text.slice(0, 200)}" that you can list`);

  async function uidOfName(path: string): Promise<string | undefined> {
    try {
      return (await findRepository(db, path, access))?.repoUid;
    } catch (error) {
      throw error instanceof OciError ? invalidSource(error.message) : error;
    }
  }
}

function invalidSource(description: string): HoltError {
  return invalidArgument("sync_config.source", description);
}

interface Syncing {
  /** The stored configuration; undefined for another source. */
  readonly before: SyncConfig | undefined;
  readonly place: string;
}

/**
 * Sets the fields that version 2 only shows. A mask that names all of sync_config includes the client's copy of them. A
 * new sync begins with the settings of the registry.
 */
async function setOutputs(
  config: SyncConfig,
  { before, place }: Syncing,
  call: WriteCall,
  collaborators: SyncConfigCollaborators,
): Promise<void> {
  const settings = before === undefined ? await registrySettingsOf(place, call.db) : { uniqueTags: false, eolGracePeriod: false };
  const given = collaborators.acceptsSyncOutputs ? config : before;
  config.uniqueTags = (given?.uniqueTags ?? false) || settings.uniqueTags;
  config.gracePeriod = (given?.gracePeriod ?? false) || settings.eolGracePeriod;
  config.apkoOverlay = given?.apkoOverlay ?? "";
  config.expirationTime =
    given?.expirationTime ??
    before?.expirationTime ??
    timestampFromDate(new Date(call.now.getTime() + DAYS_OF_SYNCING * 24 * 60 * 60 * 1000));
  parseTime("sync_config.expiration", config.expirationTime);
}

async function assertNoCircle(uid: string, sourceUid: string, { db }: WriteCall): Promise<void> {
  let at: string | null = sourceUid;
  for (let hops = 0; at !== null && hops < MAX_CHAIN_LENGTH; hops++) {
    if (at === uid) throw invalidSource("a repo cannot be synced from itself, directly or through others");
    const row: { source: string | null } | undefined = await db
      .selectFrom("repo")
      .select("source")
      .where("uid", "=", at)
      .executeTakeFirst();
    at = row?.source ?? null;
  }
}

/** The identity that a repo is synced for, and whether it may read the source. */
interface FollowerRight {
  /** Uid of an identity; null if unknown. */
  readonly sourceBy: string | null;
  readonly mayFollow: boolean;
}

/** For a caller who may list the source. */
function callerAsFollower({ principal }: WriteCall): FollowerRight {
  return { sourceBy: principal?.uid ?? null, mayFollow: true };
}

/** The right of a stored repo. A caller who may list the source takes over a sync that has lost its right. */
async function followerOf(uid: string, source: string, call: WriteCall, grants: SyncGrants): Promise<FollowerRight> {
  const row = await call.db.selectFrom("repo").select("source_by").where("uid", "=", uid).executeTakeFirst();
  const sourceBy = row?.source_by ?? null;
  if (await mayFollow({ uid, source, source_by: sourceBy }, grants)) return { sourceBy, mayFollow: true };
  return call.access.holds(LIST_REPOS, source) ? callerAsFollower(call) : { sourceBy, mayFollow: false };
}

/** Locks the source against changes: a concurrent change would not reach the repo that is not stored yet. */
async function findSource(uid: string, { db }: WriteCall): Promise<Repo | undefined> {
  const row = await db.dialect.forShare(db.selectFrom("repo").select("body").where("uid", "=", uid)).executeTakeFirst();
  return row === undefined ? undefined : fromJsonString(RepoSchema, row.body);
}

/** Clients echo what they read: a value of the source, a stored value, or an absent value does not ask for a change. */
function contradictions(source: Repo, next: Repo, current: Repo | undefined, { key, field }: (typeof inherited)[number]): FieldViolation[] {
  const value = next[key];
  const isAbsent = Array.isArray(value) ? value.length === 0 : value === CatalogTier.UNSPECIFIED;
  if (isAbsent || isSameValue(value, source[key]) || (current !== undefined && isSameValue(value, current[key]))) return [];
  return [{ field, description: `${field} of a synced repo is that of its source` }];
}
