/** Says how the rows of the tables of libraries belong to organizations. */
import { type OrganizationTables, owned } from "../transfer/organization-tables.ts";

export const librariesTables: OrganizationTables = {
  library_artifact: owned("uid"),
  library_artifact_gram: owned("artifact_uid"),
  library_name_count: owned("group_uid"),
  library_version: owned("uid"),
  library_file: owned("artifact_uid"),
  library_provenance: owned("artifact_uid"),
};
