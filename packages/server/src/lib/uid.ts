/** Arithmetic of uids, the paths that place every resource in the tree. Pure; the only place that cuts or joins them. */
import { randomBytes } from "node:crypto";
import { sha256Hex } from "./sha256.ts";

const UID = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
/** Characters of the uid of an organization, with which the uids of everything in it begin. */
export const ROOT_LENGTH = 40;
/** A sanity cap, far above any real tree: 64 segments. */
export const MAX_UID_LENGTH = 40 + 63 * 17;

export function isUid(text: string): boolean {
  return text.length <= MAX_UID_LENGTH && UID.test(text);
}

/** A new uid below `parent`; the empty parent makes a new root uid (20 random bytes, else 8). */
export function newUid(parent: string): string {
  return parent === "" ? randomBytes(20).toString("hex") : `${parent}/${randomBytes(8).toString("hex")}`;
}

/** The root uid that stands for a name for ever, on every server: first 40 hex digits of its SHA-256. */
export function uidFromText(text: string): string {
  return sha256Hex(text).slice(0, 40);
}

/** The parent of `a/b/c` is `a/b`; the parent of a root uid is the literal `/`. */
export function parentOf(uid: string): string {
  const slash = uid.lastIndexOf("/");
  return slash < 0 ? "/" : uid.slice(0, slash);
}

export function rootOf(uid: string): string {
  const slash = uid.indexOf("/");
  return slash < 0 ? uid : uid.slice(0, slash);
}

export function isInRoot(uid: string): boolean {
  return !uid.includes("/");
}

/** Whether `uid` is `ancestor` or stands anywhere below it. */
export function isAtOrBelow(uid: string, ancestor: string): boolean {
  return uid.startsWith(ancestor) && (uid.length === ancestor.length || uid.charCodeAt(ancestor.length) === 47);
}

/** `uid` and all its ancestors, nearest first. */
export function ancestry(uid: string): string[] {
  const path = [uid];
  for (let slash = uid.lastIndexOf("/"); slash > 0; slash = uid.lastIndexOf("/", slash - 1)) path.push(uid.slice(0, slash));
  return path;
}

/** A half-open interval of uids in byte order: `lower <= uid < upper`. */
export interface UidRange {
  readonly lower: string;
  readonly upper: string;
}

/** `uid` itself and everything below it. `0` is the character after `/`, and no uid has a longer first segment than another. */
export function rangeAtOrBelow(uid: string): UidRange {
  return { lower: uid, upper: `${uid}0` };
}

/** Everything strictly below `uid`. */
export function rangeBelow(uid: string): UidRange {
  return { lower: `${uid}/`, upper: `${uid}0` };
}
