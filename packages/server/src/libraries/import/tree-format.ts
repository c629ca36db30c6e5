/** What an ecosystem knows of the files of a tree: which of them are packages, and what is published of them. */
import type { Digests } from "../find-file.ts";
import type { Library } from "../library.ts";
import type { Publication } from "../publish.ts";
import type { Staged, Staging } from "../stage.ts";
import type { SourceTree } from "./source-tree.ts";

export interface Candidate {
  /** Of the artifact, and of the file in it, by which the library knows them. */
  readonly key: string;
  readonly path: string;
  /** Whether it is what the tree says of it. @throws INVALID_ARGUMENT, UnreadableFile */
  verify(digests: Digests): Promise<void>;
  /** @throws INVALID_ARGUMENT */
  read(staged: Staged, library: Library, staging: Staging): Promise<Publication>;
}

export interface TreeFormat {
  /**
   * @param path from the tree's folder on, with slashes
   * @returns undefined for what is no package and need not be one
   * @throws INVALID_ARGUMENT for what should be one and cannot be taken
   */
  inspect(path: string, tree: SourceTree): Promise<Candidate | undefined>;
}
