/** Values of settings without what is secret, for messages and for `holtd config print`. */
import type { Setting } from "./setting.ts";
import { storageSettings } from "./storage.ts";

export function shownValue({ env, isSecret }: Pick<Setting<unknown>, "env" | "isSecret">, text: string): string {
  if (!isSecret || text === "") return text;
  return env === storageSettings.databaseUrl.env ? redactedUrl(text) : "***";
}

/** Shows the scheme of a database URL, and the host only if the end of the password is certain. */
function redactedUrl(text: string): string {
  const [, scheme = "", rest = ""] = /^([a-z]+:\/\/)?(.*)$/s.exec(text) ?? [];
  const host = /^[^@?#/]*@([\w.:,[\]-]+(?:\/[\w-]*)?)$/.exec(rest)?.[1];
  return `${scheme}***${host === undefined ? "" : `@${host}`}`;
}
