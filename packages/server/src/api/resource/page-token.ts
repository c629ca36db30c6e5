/** Page tokens: sealed, bound to caller, filters and order, and valid for three days. They carry a key as position, never an offset. */
import { createSecretKey, hash, type KeyObject } from "node:crypto";
import { invalidArgument } from "../../lib/errors.ts";
import { openBox, sealBox } from "../../lib/sealed-box.ts";
import type { Call } from "../call/call.ts";

const LIFETIME_MS = 3 * 24 * 60 * 60 * 1000;

/** Sort value and uid of the last row of the previous page, and the number of rows that `skip` has passed so far. */
export interface Position {
  readonly key: string;
  readonly uid: string;
  readonly skipped: number;
}

/** The field `skipped` of a reply is an int32. */
const MAX_SKIPPED = 2 ** 31 - 1;

/** The rows that `skip` has passed on this page and on those before. @throws INVALID_ARGUMENT on skip */
export function skippedUntil(after: Position | undefined, skip: number): number {
  const skipped = (after?.skipped ?? 0) + skip;
  if (skipped > MAX_SKIPPED) throw invalidArgument("skip", `skip and the rows skipped before must add up to at most ${MAX_SKIPPED}`);
  return skipped;
}

interface Sealed extends Position {
  readonly issued: number;
}

export interface PageTokens {
  seal(position: Position, binding: string, now: Date): string;
  /** The position; undefined if the token has expired, so that the list restarts. @throws INVALID_ARGUMENT on page_token */
  open(token: string, binding: string, now: Date): Position | undefined;
}

/** The binding of a page token: it is valid for the same operation, caller and terms of the list. */
export function bindingOf({ operation, principal }: Pick<Call, "operation" | "principal">, ...terms: readonly unknown[]): string {
  return JSON.stringify([operation.name, principal?.uid, ...terms]);
}

/** @param bytes a key of 32 bytes, the same on all servers of one database */
export function createPageTokens(bytes: Uint8Array): PageTokens {
  const key = createSecretKey(bytes);
  return {
    seal(position, binding, now) {
      const text = JSON.stringify({ ...position, issued: now.getTime() } satisfies Sealed);
      return sealBox(key, text, digest(binding)).toString("base64url");
    },
    open(token, binding, now) {
      const { issued, ...position } = unseal(token, key, digest(binding));
      return now.getTime() - issued > LIFETIME_MS ? undefined : position;
    },
  };
}

function unseal(token: string, key: KeyObject, binding: Uint8Array): Sealed {
  const bytes = Buffer.from(token, "base64url");
  // Node decodes base64url leniently, so that many strings would decode to the same token. Only the exact one is accepted.
  if (bytes.toString("base64url") !== token) throw malformed();
  try {
    return JSON.parse(openBox(key, bytes, binding));
  } catch {
    throw malformed();
  }
}

function malformed(): Error {
  return invalidArgument(
    "page_token",
    "page_token is not valid for this list: use nextPageToken of the previous page, as the same caller with the same filters and order_by",
  );
}

function digest(binding: string): Uint8Array {
  return hash("sha256", binding, "buffer");
}
