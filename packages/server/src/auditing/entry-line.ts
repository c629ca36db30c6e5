/** An entry as a line of JSON, for exports and streams, and back. `entry` has the stored bytes unchanged: the hash covers them. */
import { isRecord } from "../lib/is-record.ts";
import type { ChainEntry } from "./chain/block.ts";

/** An entry whose row is missing has the content `null`. */
export function lineOf({ organization, number, hash, content = "null" }: ChainEntry): string {
  return `{"organization":${JSON.stringify(organization)},"number":${number},"hash":${JSON.stringify(hash)},"entry":${content}}`;
}

const LINE = /^\{"organization":"([0-9a-f]*)","number":([0-9]{1,15}),"hash":"([\w-]{43})","entry":(.*)\}\s*$/s;

/** @returns undefined for a line that is not an entry */
export function entryFromLine(line: string): ChainEntry | undefined {
  const [, organization = "", number, hash = "", content] = LINE.exec(line) ?? [];
  return content === undefined ? undefined : { organization, number: Number(number), hash, content };
}

/** The signed checkpoint at the end of an export. */
export function checkpointFromLine(line: string): string | undefined {
  if (!line.startsWith('{"checkpoint"')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && typeof value.checkpoint === "string" ? value.checkpoint : undefined;
  } catch {
    return undefined;
  }
}
