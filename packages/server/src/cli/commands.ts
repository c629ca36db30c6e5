/** The commands beside the server. They work on the same database, also while the server runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { capabilitySet } from "../access/capability-set.ts";
import { insert } from "../api/resource/write.ts";
import { assertBlobFolder } from "../blobs/blob-folder.ts";
import { createFilesystemBlobs } from "../blobs/filesystem.ts";
import { bootstrap } from "../bootstrap.ts";
import type { Config } from "../config.ts";
import { openStore } from "../db/open.ts";
import type { Store } from "../db/store.ts";
import { roleBindings } from "../iam/api/role-bindings.ts";
import { builtInRoles } from "../iam/grants/built-in-roles.ts";
import { createGrants } from "../iam/grants/grants.ts";
import { createAccessTokens, MAX_LIFETIME_SECONDS } from "../iam/tokens/access-token.ts";
import { createAudienceList } from "../iam/tokens/audience.ts";
import { createSigningKeys, type SigningKeys } from "../iam/tokens/signing-keys.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog } from "../lib/log.ts";
import { newUid } from "../lib/uid.ts";
import type { Garbage } from "../registry/collection/collection-walk.ts";
import { type CollectionReport, type Collector, createCollector } from "../registry/collection/gc.ts";
import { createUploads } from "../registry/content/uploads.ts";

/** Prints an access token of the bootstrap owner: whoever can open the database is trusted with it. */
export async function printToken(config: Config): Promise<void> {
  const { token, isNew } = await mintOwnerToken(config);
  // On standard error: a script reads the token from standard output, and a person may have meant another folder.
  if (isNew)
    console.error(`holtd: there was no installation in ${config.databaseUrl === "" ? config.dataDir : "the database"} yet; made one`);
  console.log(token);
}

/** An access token of the bootstrap owner for this server's API, good for an hour. */
export async function ownerToken(config: Config): Promise<string> {
  return (await mintOwnerToken(config)).token;
}

/** Begins the installation where there is none yet. */
async function mintOwnerToken({ baseUrl: issuer, orgName, ...config }: Config): Promise<{ token: string; isNew: boolean }> {
  await using store = await open(config);
  const keys = await signingKeys(store);
  const now = systemClock.now();
  const { bootstrapOwner, isNew } = await bootstrap({ store, orgName, issuer, now });
  const { access } = await createGrants({ store }).load(bootstrapOwner);
  const tokens = createAccessTokens({ issuer, keys, clock: systemClock, audiences: createAudienceList([issuer]) });
  const content = {
    uid: bootstrapOwner,
    actor: { iss: issuer, sub: bootstrapOwner, aud: issuer },
    audience: [issuer],
    email: undefined,
    emailVerified: false,
    upstream: {},
    scopes: undefined,
    capabilities: undefined,
    access,
    lifetimeSeconds: MAX_LIFETIME_SECONDS,
  };
  const { token } = await tokens.mint(content, now);
  return { token, isNew };
}

/** The new key signs from now on; running servers notice within 30 seconds, and verifiers by its unknown key id. */
export async function rotateKeys(config: Config): Promise<void> {
  await using store = await open(config);
  const keys = await signingKeys(store);
  const before = await keys.current();
  await keys.rotate();
  const after = await keys.current();
  console.log(`New signing key ${after.kid}; ${before.kid} stays published for 24 hours.`);
}

/** A line for each thing that goes, or with `isDryRun` would go, and a summary. A collection of the running server is waited for. */
export async function collectGarbage({ dataDir, gcGraceMs: graceMs, ...config }: Config, isDryRun: boolean): Promise<void> {
  await using store = await open({ dataDir, ...config });
  if (config.databaseUrl !== "") await assertBlobFolder(store, dataDir);
  const log = createLog("warn");
  await using blobs = createFilesystemBlobs({ dataDir, log });
  const clock = systemClock;
  const uploads = createUploads({ store, blobs, clock, graceMs });
  const collector = createCollector({ store, blobs, uploads, clock, log, graceMs });
  const report = isDryRun ? await collector.preview(printGarbage) : await runInTurn(collector);
  const { manifests, links, blobs: count, bytes, uploads: begun } = report;
  const counts = `${manifests} manifests, ${links} links to blobs, ${count} blobs of ${bytes} bytes, ${begun} interrupted uploads`;
  console.log(isDryRun ? `Would remove ${counts}.` : `Removed ${counts}.`);
}

const WAIT_MS = 500;

async function runInTurn(collector: Collector): Promise<CollectionReport> {
  for (let isTold = false; ; isTold = true) {
    const report = await collector.run(undefined, printGarbage);
    if (report !== undefined) return report;
    if (!isTold) console.error("waiting for a collection that is under way");
    await sleep(WAIT_MS);
  }
}

function printGarbage(garbage: Garbage): void {
  if (garbage.kind === "upload") console.log(`upload ${garbage.uid}`);
  else if (garbage.kind === "blob") console.log(`blob ${garbage.digest} ${garbage.size}`);
  else console.log(`${garbage.kind} ${garbage.repoUid} ${garbage.digest}`);
}

function open({ databaseUrl: url, dataDir }: Pick<Config, "databaseUrl" | "dataDir">): Promise<Store> {
  return openStore({ url, dataDir, log: createLog("warn") });
}

function signingKeys(store: Store): Promise<SigningKeys> {
  return createSigningKeys({ store, clock: systemClock, log: createLog("warn") });
}

/**
 * Binds the bootstrap owner as owner of an organization again: the way back in when its last owner is gone. Whoever can open
 * the database could write the binding by hand.
 * @param organization uid or name
 */
export async function recover({ baseUrl: issuer, orgName, ...config }: Config, organization: string): Promise<void> {
  await using store = await open(config);
  const now = systemClock.now();
  const { bootstrapOwner } = await bootstrap({ store, orgName, issuer, now });
  const grants = createGrants({ store });
  await store.transaction(async (db) => {
    const query = db.selectFrom("group").select(["uid", "name"]).where("parent", "is", null);
    const found = (await query.execute()).filter(({ uid, name }) => uid === organization || name === organization);
    const [only] = found;
    if (only === undefined || found.length > 1)
      throw new Error(`there are ${found.length} organizations "${organization}"; give the uid of one`);
    const { access } = await grants.load(bootstrapOwner, db);
    const owner = builtInRoles.find((role) => role.name === "owner");
    if (owner === undefined || access.holds(capabilitySet(owner.capabilities), only.uid)) return;
    await insert(roleBindings, newUid(only.uid), create(RoleBindingSchema, { identityUid: bootstrapOwner, roleUid: owner.uid }), now, db);
    await grants.changed(db, [bootstrapOwner]);
  });
  console.log(`The bootstrap owner owns ${organization}. A server that runs on SQLite learns of it when it is started again.`);
}
