/** The small commands. They work on the server's database, also while the server runs. */
import { existsSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { capabilitySet } from "../access/capability-set.ts";
import { insert } from "../api/resource/write.ts";
import type { Config } from "../config.ts";
import { compactSqlite } from "../db/compact-sqlite.ts";
import { lockDataFolder } from "../db/data-folder-lock.ts";
import { sqlitePath } from "../db/open.ts";
import { roleBindings } from "../iam/api/role-bindings.ts";
import { builtInRoles } from "../iam/grants/built-in-roles.ts";
import { join } from "../iam/joining/membership.ts";
import { createAccessTokens, MAX_LIFETIME_SECONDS } from "../iam/tokens/access-token.ts";
import { createAudienceList } from "../iam/tokens/audience.ts";
import { newUid } from "../lib/uid.ts";
import { createSignInLink } from "../sign-in/sign-in-link.ts";
import { findOrganization } from "./find-organization.ts";
import { openInstallation } from "./open-installation.ts";

/** Prints an access token of the bootstrap owner. Access to the database is proof enough. */
export async function printToken(config: Config): Promise<void> {
  console.log(await ownerToken(config));
}

/** Prints a link that signs the bootstrap owner in to the console. Access to the database is proof enough. */
export async function printLink(config: Config): Promise<void> {
  if (!config.console) throw new Error("HOLT_CONSOLE is off, so a link would lead nowhere");
  console.log(await signInLink(config));
}

async function signInLink(config: Config): Promise<string> {
  await using installation = await openInstallation(config, { use: "command", command: "token --link" });
  const { store, clock } = installation;
  const secrets = await installation.openSecrets();
  await installation.bootstrap();
  return await store.transaction((db) => createSignInLink(db, config.baseUrl, clock.now(), secrets));
}

/** An access token of the bootstrap owner for this server's API, good for an hour. */
export async function ownerToken(config: Config): Promise<string> {
  const { baseUrl: issuer } = config;
  await using installation = await openInstallation(config, { use: "command", command: "token" });
  const { grants, clock } = installation;
  const keys = await installation.openKeys();
  const { bootstrapOwner } = await installation.bootstrap();
  const { access, registered } = await grants.load(bootstrapOwner);
  const tokens = createAccessTokens({ issuer, keys, clock, audiences: createAudienceList([issuer]) });
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
    registered,
    lifetimeSeconds: MAX_LIFETIME_SECONDS,
  };
  return (await tokens.mint(content, clock.now())).token;
}

/** The new key signs from now on. Running servers notice it within 30 seconds, and verifiers by its unknown key id. */
export async function rotateKeys(config: Config): Promise<void> {
  await using installation = await openInstallation(config, { use: "command", command: "keys rotate" });
  const keys = await installation.openKeys();
  const before = await keys.current();
  await keys.rotate();
  const after = await keys.current();
  console.log(`New signing key ${after.kid}; ${before.kid} stays published for 24 hours.`);
}

/** For an operator whose folder of images is lost, or was moved without its id. */
export async function adoptBlobs(config: Config): Promise<void> {
  await using installation = await openInstallation(config, { use: "command", command: "adopt-blobs" });
  const name = await installation.adoptBlobs();
  console.log(`The database now keeps its images in ${name}. Collection deletes blobs there that the database does not know.`);
}

/** Rewrites the database file of a stopped server. @throws Error while a server uses it */
export async function compact(config: Config): Promise<void> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl !== "") throw new Error("PostgreSQL manages its files itself; this command is for SQLite");
  const path = sqlitePath(dataDir);
  if (!existsSync(path)) throw new Error(`there is no database ${path}`);
  const { bytesBefore, bytesAfter } = compactLocked(dataDir, path);
  await using _installation = await openInstallation(config, { use: "command", command: "compact" });
  console.log(`The database file had ${bytesBefore} bytes and has ${bytesAfter} now. From now on it shrinks while the server works.`);
}

function compactLocked(dataDir: string, path: string) {
  using _lock = lockDataFolder(dataDir, "stop it first: compaction needs the database for itself");
  return compactSqlite(path);
}

/**
 * Binds the bootstrap owner as owner of an organization again: the way back in when its last owner is gone. Access to the
 * database is proof enough.
 * @param organization uid or name
 */
export async function recover(config: Config, organization: string): Promise<void> {
  await using installation = await openInstallation(config, { use: "command", command: `recover ${organization}` });
  const { store, grants, clock } = installation;
  const { bootstrapOwner } = await installation.bootstrap();
  await store.transaction(async (db) => {
    const { uid } = await findOrganization(organization, db);
    const { access } = await grants.load(bootstrapOwner, db);
    const owner = builtInRoles.find((role) => role.name === "owner");
    if (owner === undefined || access.holds(capabilitySet(owner.capabilities), uid)) return;
    const binding = create(RoleBindingSchema, { identityUid: bootstrapOwner, roleUid: owner.uid });
    await insert(roleBindings, newUid(uid), binding, { now: clock.now(), db });
    await join(db, { identityUid: bootstrapOwner, groupUid: uid, now: clock.now() });
    await grants.recordChange(db, [bootstrapOwner]);
  });
  console.log(`The bootstrap owner owns ${organization}. Restart a server that runs on SQLite, so that it notices.`);
}
