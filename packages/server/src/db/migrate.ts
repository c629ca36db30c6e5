/** Brings a database to the schema this program knows, forward only; what the schemas are is in migrations/. */
import { sql } from "kysely";
import { advisories } from "../advisories/migrations/010-advisories.ts";
import { remoteImports } from "../advisories/migrations/012-remote-imports.ts";
import { feeds } from "../advisories/migrations/013-feeds.ts";
import { advisoryBodies } from "../advisories/migrations/016-advisory-bodies.ts";
import { advisoryIndexes } from "../advisories/migrations/019-advisory-indexes.ts";
import { deliveries } from "../events/migrations/003-deliveries.ts";
import { initial } from "../iam/migrations/001-initial.ts";
import { identityProviders } from "../iam/migrations/004-identity-providers.ts";
import { joining } from "../iam/migrations/005-joining.ts";
import { tokenMatching } from "../iam/migrations/008-token-matching.ts";
import type { Log } from "../lib/log.ts";
import { libraries } from "../libraries/migrations/009-libraries.ts";
import { librarySearch } from "../libraries/migrations/015-library-search.ts";
import { mavenPlugins } from "../libraries/migrations/017-maven-plugins.ts";
import { registry } from "../registry/migrations/002-registry.ts";
import { imagePackages } from "../registry/migrations/011-image-packages.ts";
import { indexPlatforms } from "../registry/migrations/014-index-platforms.ts";
import { readingTurns } from "../registry/migrations/018-reading-turns.ts";
import { scim } from "../scim/migrations/007-scim.ts";
import { signIn } from "../sign-in/migrations/006-sign-in.ts";
import type { Dialect } from "./dialect.ts";
import type { Store, WriteDb } from "./store.ts";

export interface Migration {
  readonly name: string;
  /** One SQL statement each. */
  statements(dialect: Dialect): readonly string[];
}

/** The version of a schema is its place here, counted from 1. */
const MIGRATIONS: readonly Migration[] = [
  initial,
  registry,
  deliveries,
  identityProviders,
  joining,
  signIn,
  scim,
  tokenMatching,
  libraries,
  advisories,
  imagePackages,
  remoteImports,
  feeds,
  indexPlatforms,
  librarySearch,
  advisoryBodies,
  mavenPlugins,
  readingTurns,
  advisoryIndexes,
];

/**
 * Applies what is missing, each migration in its own transaction. Any number of servers may do so at once.
 * @throws Error where the data was written by a newer program
 */
export async function migrate(store: Store, log: Log, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
  for (;;) {
    const applied = await store.transaction((db) => applyNext(db, migrations));
    if (applied === undefined) return;
    log.info({ version: applied }, "migrated the database");
  }
}

/** The version it applied; undefined where there was none left. */
async function applyNext(db: WriteDb, migrations: readonly Migration[]): Promise<number | undefined> {
  const { types, migrationLock } = db.dialect;
  for (const statement of migrationLock) await sql.raw(statement).execute(db);
  await sql
    .raw(
      `create table if not exists schema_migration (version ${types.integer} not null primary key, name ${types.text} not null, applied_time ${types.text} not null)`,
    )
    .execute(db);
  const { rows } = await sql<{ version: number }>`select coalesce(max(version), 0) as version from schema_migration`.execute(db);
  const version = rows[0]?.version ?? 0;
  if (version > migrations.length) {
    throw new Error(
      `The data was written by a newer Holt (schema ${version}); this program knows ${migrations.length}. Start the newer version or restore a backup.`,
    );
  }
  const next = migrations[version];
  if (next === undefined) return undefined;
  for (const statement of next.statements(db.dialect)) await sql.raw(statement).execute(db);
  await sql`insert into schema_migration (version, name, applied_time) values (${version + 1}, ${next.name}, ${new Date().toISOString()})`.execute(
    db,
  );
  return version + 1;
}
