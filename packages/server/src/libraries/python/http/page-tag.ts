/** The entity tags of the pages of a Python project. */
import { sha256Hex } from "../../../lib/sha256.ts";
import type { Project } from "../simple-pages.ts";

/** @param filesUrl the folder of files that the page links to: it changes with the URL of the server */
export function pageTag({ uid, serial }: Project, page: string, filesUrl: string): string {
  return `${uid.slice(-16)}-${serial}-${page}-${sha256Hex(filesUrl).slice(0, 8)}`;
}
