/** A package as its format reads it from the uploaded bytes, before it is published. */
import type { Parsers } from "../jobs/parsers.ts";
import type { Library } from "./library.ts";
import type { Staging } from "./stage.ts";

export interface Publication {
  readonly library: Library;
  /** The name as its author writes it. */
  readonly name: string;
  /** The name as the ecosystem compares names. */
  readonly key: string;
  readonly version: PublishedVersion;
  /** The path of the file, unique in its artifact. */
  readonly path: string;
  /** Facts that the protocol serves with the file. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The file makes its artifact a Maven plugin, which clients find by a prefix. */
  readonly isPlugin: boolean;
  /** Header fields of PKG-INFO, only of source distributions. */
  readonly coreMetadata?: string | undefined;
  /** Attestations that were uploaded with a Python file (PEP 740), as JSON texts. */
  readonly attestations?: readonly string[] | undefined;
}

export interface PublishedVersion {
  readonly text: string;
  /** Sorts versions as the ecosystem does. */
  readonly sortKey: string;
  /** A pre-release is the latest version only if there is no release. */
  readonly isPreRelease: boolean;
  /** Empty if this file has none. */
  readonly description: string;
  readonly cudaVersion: string | undefined;
  readonly isRemediated: boolean;
}

/** Everything that a format needs to read a package, besides the bytes. */
export interface ReadingContext {
  readonly library: Library;
  readonly staging: Pick<Staging, "read" | "withFile">;
  readonly parsers: Parsers;
  /** Uid of the identity that publishes. Organizations share the threads of the parsers. */
  readonly publisher: string;
  /** Labels that mark a version in which vulnerabilities were patched. */
  readonly remediatedLabels: readonly string[];
}
