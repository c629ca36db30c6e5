/** The tables of libraries. The migrations make them; column names equal proto field names. */
import type { Generated } from "kysely";
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    library_artifact: LibraryArtifactTable;
    library_artifact_gram: LibraryArtifactGramTable;
    library_version: LibraryVersionTable;
    library_file: LibraryFileTable;
  }

  interface PartialCounts {
    java_artifact: true;
    python_artifact: true;
  }
}

/** What an ecosystem calls a package, a project or an artifact, in one group's library. */
export interface LibraryArtifactTable extends ResourceTable {
  /** Number of Ecosystem. */
  ecosystem: number;
  /** The name as its ecosystem compares names: for Python normalised (PEP 503). */
  key: string;
  /** Sort key of `latestVersion`. */
  latest_sort_key: string;
  /** 1 where any version is remediated. */
  remediated: number;
  /** Grows with every change, so that an index page's ETag does. */
  serial: number;
}

/** One, two or three characters in a row of a lower-case name, for search. */
export interface LibraryArtifactGramTable {
  gram: string;
  ecosystem: number;
  artifact_uid: string;
  /** All of it, in lower case. */
  name: string;
}

export interface LibraryVersionTable {
  uid: string;
  artifact_uid: string;
  /** As it was published. */
  version: string;
  /** Sorts versions as their ecosystem does. */
  sort_key: string;
  create_time: string;
  update_time: string;
  description: string;
  /** Of all files. */
  size_bytes: number;
  /** `12.1`, where the version is built for it. */
  cuda_version: string | null;
  /** 1 where it says of itself that vulnerabilities were patched in it. */
  remediated: number;
  /** Set while the version is not to be chosen by who does not name it (PEP 592). */
  yank_time: string | null;
  yank_reason: string;
}

/** One file of a version; its bytes are a blob. */
export interface LibraryFileTable {
  artifact_uid: string;
  version_uid: string;
  /** File name; for Java the path below the artifact's folder: `1.0/lib-1.0.jar`. */
  path: string;
  digest: string;
  size: number;
  /** Hexadecimal, as are the other two. */
  sha1: string;
  md5: string;
  sha512: string;
  /** What the ecosystem's protocol tells of it, as a JSON object. */
  metadata: string;
  create_time: string;
  /** Uid of the identity that published it. */
  actor: string;
  /** 1 where the file makes its artifact a plugin, which clients find by a prefix. */
  plugin: Generated<number>;
}
