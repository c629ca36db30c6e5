/** Declares the tables of libraries. Columns have the names of the proto fields. */
import type { Generated } from "kysely";
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    library_artifact: LibraryArtifactTable;
    library_artifact_gram: LibraryArtifactGramTable;
    library_name_count: LibraryNameCountTable;
    library_version: LibraryVersionTable;
    library_file: LibraryFileTable;
    library_provenance: LibraryProvenanceTable;
  }

  interface PartialCounts {
    java_artifact: true;
    python_artifact: true;
  }
}

/** A package, project or artifact of an ecosystem, in the library of one group. */
export interface LibraryArtifactTable extends ResourceTable {
  /** The number of the Ecosystem value. */
  ecosystem: number;
  /** The name, normalized by the rules of its ecosystem: for Python, PEP 503. */
  key: string;
  /** Sort key of `latestVersion`. */
  latest_sort_key: string;
  /** 1 if any version is remediated. */
  remediated: number;
  /** Incremented with every change; the ETag of the index page contains it. */
  serial: number;
  /** The number of the PythonProject.Status value; only Python projects have another than the default. */
  status: Generated<number>;
  status_reason: Generated<string>;
  /** A JSON array of URLs (PEP 708), as is `alternate_locations`. */
  tracks: Generated<string>;
  alternate_locations: Generated<string>;
}

/** A substring of one to three characters of a lower-case name, for search. */
export interface LibraryArtifactGramTable {
  gram: string;
  ecosystem: number;
  artifact_uid: string;
  /** The whole name, in lower case. */
  name: string;
}

/** Number of artifacts below a group whose lower-case name contains a substring of one to three characters. */
export interface LibraryNameCountTable {
  group_uid: string;
  gram: string;
  ecosystem: number;
  /** The artifacts' value of the column. */
  remediated: number;
  /** As in `resource_count`. */
  slot: number;
  below: number;
  direct: number;
}

export interface LibraryVersionTable {
  uid: string;
  artifact_uid: string;
  /** The version as it was published. */
  version: string;
  /** Sorts versions in the order of their ecosystem. */
  sort_key: string;
  create_time: string;
  update_time: string;
  description: string;
  /** Total size of all files, in bytes. */
  size_bytes: number;
  /** CUDA version that the files are built for, e.g. `12.1`. */
  cuda_version: string | null;
  /** 1 if the version's label says that vulnerabilities were patched. */
  remediated: number;
  /** Set if clients should choose the version only when asked for it exactly (PEP 592). */
  yank_time: string | null;
  yank_reason: string;
}

/** One file of a version; its bytes are a blob. */
export interface LibraryFileTable {
  artifact_uid: string;
  version_uid: string;
  /** The file name. For Java, the path below the artifact's folder, such as `1.0/lib-1.0.jar`. */
  path: string;
  digest: string;
  size: number;
  /** Hexadecimal, like the other two digests. */
  sha1: string;
  md5: string;
  sha512: string;
  /** Metadata for the ecosystem's protocol, as a JSON object. */
  metadata: string;
  create_time: string;
  /** Uid of the identity that published the file. */
  actor: string;
  /** 1 if the file makes its artifact a plugin, which clients find by its prefix. */
  plugin: Generated<number>;
  /** The header fields of PKG-INFO, only of source distributions: they cannot be read in place, as those of a wheel can. */
  core_metadata: string | null;
}

/** The attestations of a Python file (PEP 740). */
export interface LibraryProvenanceTable {
  artifact_uid: string;
  path: string;
  /** SHA-256 of `body`, in hexadecimal. */
  digest: string;
  /** The provenance object, as it is served. */
  body: string;
}
