/** Repos that are synced from another: which one that is, and what they have from it. Nothing here copies images. */
import { fromJsonString } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { CatalogTier, type Repo, RepoSchema, type SyncConfig } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { save } from "../../api/resource/write.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { type FieldViolation, type HoltError, invalidArgument, invalidArguments } from "../../lib/errors.ts";
import { isUid } from "../../lib/uid.ts";
import { findPlace } from "../names.ts";
import { OciError } from "../oci-error.ts";
import { repos } from "../resources.ts";

const LIST = capabilitySet([Capability.CAP_REPO_LIST]);
const DAYS_OF_SYNCING = 14;
/** Repos from the last one to the first; a bound for what two writers at once may tie into a circle. */
const LONGEST_CHAIN = 100;

type Inherited = Pick<Repo, "catalogTier" | "bundles" | "aliases" | "activeTags">;

const inherited: readonly { readonly key: keyof Inherited; readonly field: string }[] = [
  { key: "catalogTier", field: "catalog_tier" },
  { key: "bundles", field: "bundles" },
  { key: "aliases", field: "aliases" },
  { key: "activeTags", field: "active_tags" },
];

/**
 * Gives a repo that is about to be stored what its sync configuration implies: the source as a uid, what only the server sets,
 * and the source's fields.
 * @param current what is stored; undefined for a repo that is being made
 * @throws INVALID_ARGUMENT where the source is none, or a field says something else than it
 */
export async function applySyncConfig(
  next: Repo,
  current: Repo | undefined,
  call: WriteCall,
  dependencies: ServiceDependencies,
): Promise<void> {
  const config = next.syncConfig;
  if (config === undefined) return;
  const before = current?.syncConfig;
  // Who changes something else need not see the source, nor need the source still exist.
  const sourceUid = config.source === before?.source ? config.source : await resolveSource(config.source, call, dependencies);
  config.source = sourceUid;
  keepOutputs(config, before?.source === sourceUid ? before : undefined, call.now);
  if (sourceUid !== before?.source) await assertNoCircle(next.uid, sourceUid, call);
  const source = await findSource(sourceUid, call);
  if (source === undefined) return keepInherited(next, current);
  const violations = inherited.flatMap((one) => otherThan(source, next, current, one));
  if (violations.length > 0) throw invalidArguments(violations);
  inherit(next, source);
  if (before === undefined && next.description === "") next.description = source.description;
}

/** Gives all repos that are synced from it what has changed of a source. The call's own event tells of the source alone. */
export async function shareInherited(before: Repo, source: Repo, call: WriteCall): Promise<void> {
  if (inherited.every(({ key }) => isSame(before[key], source[key]))) return;
  const query = call.db.selectFrom("repo").select("body").where("source", "=", source.uid).orderBy("uid");
  for (const { body } of await call.db.dialect.forUpdate(query).execute()) {
    const current = fromJsonString(RepoSchema, body);
    const next = fromJsonString(RepoSchema, body);
    inherit(next, source);
    const writing = { ...call, changed: true };
    await save(repos, { current, next }, writing);
    if (writing.changed) await shareInherited(current, next, call);
  }
}

/** A uid, `<organization>/[folder/…/]<name>`, or that behind this registry's host. */
async function resolveSource(text: string, { db, access }: WriteCall, { registryHost }: ServiceDependencies): Promise<string> {
  if (text === "") throw invalidSource("source is required");
  const name = text.startsWith(`${registryHost}/`) ? text.slice(registryHost.length + 1) : text;
  const uid = isUid(name) ? name : await uidOfName(name);
  // What the caller may not list does not exist for it.
  if (uid !== undefined && access.holds(LIST, uid)) {
    const row = await db.selectFrom("repo").select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined) return uid;
  }
  throw invalidSource(`there is no repo "${text.slice(0, 200)}" that you can list`);

  async function uidOfName(path: string): Promise<string | undefined> {
    try {
      return (await findPlace(db, path, access))?.repoUid;
    } catch (error) {
      throw error instanceof OciError ? invalidSource(error.message) : error;
    }
  }
}

function invalidSource(description: string): HoltError {
  return invalidArgument("sync_config.source", description);
}

/** A mask that names all of sync_config brings the client's copy of these along. */
function keepOutputs(config: SyncConfig, before: SyncConfig | undefined, now: Date): void {
  config.uniqueTags = before?.uniqueTags ?? false;
  config.gracePeriod = before?.gracePeriod ?? false;
  config.apkoOverlay = before?.apkoOverlay ?? "";
  config.expirationTime = before?.expirationTime ?? timestampFromDate(new Date(now.getTime() + DAYS_OF_SYNCING * 24 * 60 * 60 * 1000));
}

async function assertNoCircle(uid: string, sourceUid: string, { db }: WriteCall): Promise<void> {
  let at: string | null = sourceUid;
  for (let hops = 0; at !== null && hops < LONGEST_CHAIN; hops++) {
    if (at === uid) throw invalidSource("a repo cannot be synced from itself, directly or through others");
    const row: { source: string | null } | undefined = await db
      .selectFrom("repo")
      .select("source")
      .where("uid", "=", at)
      .executeTakeFirst();
    at = row?.source ?? null;
  }
}

/** Locked as it is: what changes in it meanwhile would miss the repo that is not stored yet. */
async function findSource(uid: string, { db }: WriteCall): Promise<Repo | undefined> {
  const row = await db.dialect.forShare(db.selectFrom("repo").select("body").where("uid", "=", uid)).executeTakeFirst();
  return row === undefined ? undefined : fromJsonString(RepoSchema, row.body);
}

/** Clients echo what they read, so what is the source's, what is stored, and nothing at all ask for no change. */
function otherThan(source: Repo, next: Repo, current: Repo | undefined, { key, field }: (typeof inherited)[number]): FieldViolation[] {
  const value = next[key];
  const isAbsent = Array.isArray(value) ? value.length === 0 : value === CatalogTier.UNSPECIFIED;
  if (isAbsent || isSame(value, source[key]) || (current !== undefined && isSame(value, current[key]))) return [];
  return [{ field, description: `${field} of a synced repo is that of its source` }];
}

function keepInherited(next: Repo, current: Repo | undefined): void {
  if (current !== undefined) inherit(next, current);
}

function inherit(next: Repo, { catalogTier, bundles, aliases, activeTags }: Inherited): void {
  Object.assign(next, { catalogTier, bundles: [...bundles], aliases: [...aliases], activeTags: [...activeTags] });
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
