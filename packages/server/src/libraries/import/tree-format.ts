/** How an ecosystem recognizes and reads the packages in a tree of files. */
import type { Digests } from "../find-file.ts";
import type { Publication, ReadingContext } from "../publication.ts";
import type { Staged } from "../stage.ts";
import type { SourceTree } from "./source-tree.ts";

export interface Candidate {
  /** The key of the artifact. */
  readonly key: string;
  /** The path of the file in the artifact. */
  readonly path: string;
  /** Compares the file with the checksums and POMs in the tree. @throws INVALID_ARGUMENT, UnreadableFile */
  verify(digests: Digests): Promise<void>;
  /** @throws INVALID_ARGUMENT */
  read(staged: Staged, context: Omit<ReadingContext, "remediatedLabels">): Promise<Publication>;
}

export interface TreeFormat {
  /**
   * @param path relative to the root of the tree, with slashes
   * @returns undefined for a file that is not a package
   * @throws INVALID_ARGUMENT for a package that cannot be published
   */
  inspect(path: string, tree: SourceTree): Promise<Candidate | undefined>;
}
