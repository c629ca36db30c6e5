/** Static facts about the domain `advisories`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import { SearchHit_Kind } from "@holt/api/gen/holt/v1/search_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { sql } from "kysely";
import type { Domain } from "../api/domain.ts";
import { advisories } from "./migrations/010-advisories.ts";
import { remoteImports } from "./migrations/012-remote-imports.ts";
import { feeds } from "./migrations/013-feeds.ts";
import { advisoryBodies } from "./migrations/016-advisory-bodies.ts";
import { advisoryIndexes } from "./migrations/019-advisory-indexes.ts";
import { mirrorLeasesImportTurns } from "./migrations/021-mirror-leases-import-turns.ts";
import { findings } from "./migrations/034-findings.ts";
import { originVersions } from "./migrations/045-origin-versions.ts";
import { fetchedImports } from "./migrations/054-fetched-imports.ts";
import { feedFiles } from "./migrations/055-feed-files.ts";
import { optionalAdvisoryColumns } from "./migrations/057-optional-advisory-columns.ts";
import { advisoryNames } from "./migrations/059-advisory-names.ts";
import { advisoriesTables } from "./organization-tables.ts";
import { FETCH_LEASE_MS, IMPORT_LEASE_MS, MATCHING_LEASE_MS } from "./tables.ts";

const ADVISORY = {
  kind: SearchHit_Kind.ADVISORY,
  capability: Capability.CAP_ADVISORIES_LIST,
  table: "advisory",
  hasDeleteTime: true,
} as const;

export const advisoriesDomain: Domain = {
  name: "advisories",
  search: [
    { ...ADVISORY, column: "first_alias", context: sql<string>`(select a.artifact_name from advisory as a where a.uid = r.uid)` },
    { ...ADVISORY, column: "artifact_name", context: sql<string>`(select a.first_alias from advisory as a where a.uid = r.uid)` },
  ],
  migrations: [
    advisories,
    remoteImports,
    feeds,
    advisoryBodies,
    advisoryIndexes,
    mirrorLeasesImportTurns,
    findings,
    originVersions,
    fetchedImports,
    feedFiles,
    optionalAdvisoryColumns,
    advisoryNames,
  ],
  organizationTables: advisoriesTables,
  blobReferences: [{ table: "feed_file", column: "digest", holder: "group_uid", isCache: true }],
  countedRows: [
    { kind: "advisory", table: "advisory", where: "delete_time is null" },
    { kind: "advisory_mirror", table: "advisory_mirror" },
    { kind: "vulnerability", table: "vulnerability", isOutsideTree: true },
  ],
  onGroupDelete: {
    // A deleted advisory stays as a row with a time.
    blockedBy: [{ table: "advisory", where: sql<boolean>`delete_time is null` }, { table: "advisory_mirror" }],
    alsoDeletes: [
      { table: "advisory", column: "parent" },
      { table: "advisory_count", column: "group_uid" },
      { table: "advisory_people_count", column: "group_uid" },
      { table: "advisory_change", column: "group_uid" },
      { table: "feed", column: "group_uid" },
      { table: "feed_file", column: "group_uid" },
      { table: "match_request", column: "org_uid" },
      { table: "match_turn", column: "org_uid" },
      { table: "matched_image", column: "org_uid" },
      { table: "matched_package", column: "org_uid" },
    ],
  },
  queues: [
    { name: "matching", table: "match_request", leases: "match_turn", leaseMs: MATCHING_LEASE_MS },
    { name: "mirrors", table: "advisory_mirror_run", leaseMs: FETCH_LEASE_MS, where: sql`next_time is not null`, since: "next_time" },
    { name: "fetches", table: "advisory_import_fetch", leaseMs: FETCH_LEASE_MS, since: "create_time" },
    { name: "imports", table: "advisory_import", leaseMs: IMPORT_LEASE_MS, where: sql`state = 'waiting'`, since: "create_time" },
  ],
};
