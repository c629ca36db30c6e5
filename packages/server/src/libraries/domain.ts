/** Static facts about the domain `libraries`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import { SearchHit_Kind } from "@holt/api/gen/holt/v1/search_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { Domain } from "../api/domain.ts";
import { libraries } from "./migrations/009-libraries.ts";
import { librarySearch } from "./migrations/015-library-search.ts";
import { mavenPlugins } from "./migrations/017-maven-plugins.ts";
import { pythonProjects } from "./migrations/027-python-projects.ts";
import { libraryNameCounts } from "./migrations/058-library-name-counts.ts";
import { holdersOfFiles } from "./migrations/061-holders-of-files.ts";
import { librariesTables } from "./organization-tables.ts";
import "./tables.ts";

export const librariesDomain: Domain = {
  name: "libraries",
  migrations: [libraries, librarySearch, mavenPlugins, pythonProjects, libraryNameCounts, holdersOfFiles],
  organizationTables: librariesTables,
  countedRows: [
    { kind: "library_artifact", table: "library_artifact" },
    { kind: "java_artifact", table: "library_artifact", where: "ecosystem = 1" },
    { kind: "python_artifact", table: "library_artifact", where: "ecosystem = 2" },
  ],
  search: [
    {
      kind: SearchHit_Kind.PACKAGE,
      capability: Capability.CAP_LIBRARIES_ARTIFACTS_LIST,
      table: "library_artifact",
      column: "name",
    },
  ],
  onGroupDelete: {
    blockedBy: [{ table: "library_artifact" }],
    alsoDeletes: [{ table: "library_name_count", column: "group_uid" }],
  },
  blobReferences: [{ table: "library_file", column: "digest", holder: "artifact_uid" }],
};
