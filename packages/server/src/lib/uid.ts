/** Splits and joins uids, the paths that locate every resource in the tree. No other file does so. Pure. */
import { randomBytes } from "node:crypto";
import { sha256Hex } from "./sha256.ts";

const UID = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
/** Length of the uid of an organization. The uids of everything in the organization begin with it. */
export const ROOT_LENGTH = 40;
/** 64 segments, far deeper than any real tree. */
export const MAX_UID_LENGTH = 40 + 63 * 17;

export function isUid(text: string): boolean {
  return text.length <= MAX_UID_LENGTH && UID.test(text);
}

/** A new uid below `parent` (8 random bytes); with an empty parent, a new root uid (20 random bytes). */
export function newUid(parent: string): string {
  return parent === "" ? randomBytes(20).toString("hex") : `${parent}/${randomBytes(8).toString("hex")}`;
}

/** The root uid of a name, the same on every server: the first 40 hexadecimal digits of its SHA-256. */
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

/** Whether `uid` equals `ancestor` or is anywhere below it. */
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

/**
 * The range of `uid` and everything below it. `0` is the character after `/`, and all root segments have equal length.
 */
export function rangeAtOrBelow(uid: string): UidRange {
  return { lower: uid, upper: `${uid}0` };
}

/** The range of everything strictly below `uid`. */
export function rangeBelow(uid: string): UidRange {
  return { lower: `${uid}/`, upper: `${uid}0` };
}
