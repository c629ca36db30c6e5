/** Opens the target of backups that an operator names. */
import { resolve } from "node:path";
import { openFolderTarget } from "../backup/folder-target.ts";
import type { BackupTarget } from "../backup/target.ts";

/** @param name a folder. Other kinds of targets have URLs, such as `s3://bucket/prefix` */
export async function openTarget(name: string): Promise<BackupTarget> {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//.exec(name)?.[1];
  if (scheme !== undefined) throw new Error(`this version cannot write backups to ${scheme}:// addresses; name a folder`);
  return openFolderTarget(resolve(name));
}
