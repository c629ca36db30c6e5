/** Says how the rows of the tables of advisories belong to organizations. */
import { type RawBuilder, sql } from "kysely";
import { inOrganization, isIn, type OrganizationTables, owned, related, stays } from "../transfer/organization-tables.ts";

/** An import that is not over needs its staged file, which stays on the server. */
const overImports = (organization: string): RawBuilder<boolean> =>
  sql<boolean>`(${inOrganization("uid", organization)} and state in ('done', 'failed'))`;
const ofPackages = (column: string, organization: string): RawBuilder<boolean> =>
  isIn(column, organization, { table: "matched_package", column: "id", owner: "org_uid" });
const ofImages = (column: string, organization: string): RawBuilder<boolean> =>
  isIn(column, organization, { table: "matched_image", column: "id", owner: "org_uid" });

export const advisoriesTables: OrganizationTables = {
  advisory_import_part: stays("parts of uploads that are not over"),
  advisory_import_fetch: stays("fetches that are not over"),
  feed: stays("feeds are a cache, which any server builds again"),
  feed_file: stays("feeds are a cache, which any server builds again"),
  advisory: owned("uid"),
  advisory_affected: owned("advisory_uid"),
  advisory_alias: owned("advisory_uid"),
  advisory_term: owned("advisory_uid"),
  advisory_suffix: related(
    (organization) => isIn("term", organization, { table: "advisory_term", column: "term", owner: "advisory_uid" }),
    { sharedBy: ["suffix", "term"] },
  ),
  advisory_count: owned("group_uid", { rootCounts: ["below"] }),
  advisory_people_count: owned("group_uid", { rootCounts: ["below"] }),
  advisory_change: owned("group_uid"),
  vulnerability: related(
    (organization) =>
      sql<boolean>`(${isIn("id", organization, { table: "advisory_alias", column: "alias", owner: "advisory_uid" })} or id in (
        select f.vulnerability from finding as f where ${ofPackages("f.package_id", organization)}))`,
    { sharedBy: ["id"] },
  ),
  advisory_mirror: owned("uid"),
  advisory_mirror_run: owned("mirror_uid", {
    // A fetch or an import that is under way begins anew.
    replaced: { file: sql`null`, import_uid: sql`null`, next_time: sql`coalesce(next_time, '2000-01-01T00:00:00.000Z')` },
  }),
  advisory_import: related(overImports),
  advisory_import_problem: related(
    (organization) => sql<boolean>`import_uid in (select uid from advisory_import where ${overImports(organization)})`,
  ),
  import_turn: owned("org_uid"),
  match_request: owned("org_uid"),
  match_turn: owned("org_uid"),
  matched_image: owned("org_uid"),
  matched_package: owned("org_uid"),
  matched_image_package: related((organization) => ofImages("image_id", organization), {
    rowNumbers: { image_id: "matched_image", package_id: "matched_package" },
  }),
  finding: related((organization) => ofPackages("package_id", organization), { rowNumbers: { package_id: "matched_package" } }),
  critical_notice: related((organization) => ofImages("image_id", organization), { rowNumbers: { image_id: "matched_image" } }),
};
