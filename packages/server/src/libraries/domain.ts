/** Static facts about the domain `libraries`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import type { Domain } from "../api/module.ts";
import { libraries } from "./migrations/009-libraries.ts";
import { librarySearch } from "./migrations/015-library-search.ts";
import { mavenPlugins } from "./migrations/017-maven-plugins.ts";
import { pythonProjects } from "./migrations/027-python-projects.ts";
import "./tables.ts";

export const librariesDomain: Domain = {
  name: "libraries",
  migrations: [libraries, librarySearch, mavenPlugins, pythonProjects],
  countedRows: [
    { kind: "library_artifact", table: "library_artifact" },
    { kind: "java_artifact", table: "library_artifact", where: "ecosystem = 1" },
    { kind: "python_artifact", table: "library_artifact", where: "ecosystem = 2" },
  ],
  onGroupDelete: { blockedBy: [{ table: "library_artifact" }] },
  blobReferences: [{ table: "library_file", column: "digest" }],
};
