/**
 * Holds the access token of this page in memory, and renews it before it expires. When the session has ended, requests
 * wait until the person has signed in again in another tab, so that no input is lost.
 */
import { useSyncExternalStore } from "react";
import { type AccessToken, end, redeemCode, redeemLink, renew } from "./session-endpoint.ts";

export type SessionState =
  | { readonly kind: "unknown" }
  | { readonly kind: "signedOut" }
  | { readonly kind: "signedIn"; readonly uid: string }
  /** The session of this person is over; the page still shows what they did. */
  | { readonly kind: "ended"; readonly uid: string };

/** A token is renewed this long before it expires, so that it does not expire on its way. */
const RENEW_BEFORE_MS = 60_000;

/** Tells the other tabs of this browser about sign-ins and sign-outs. */
const channel = new BroadcastChannel("holt-session");

let state: SessionState = { kind: "unknown" };
let current: AccessToken | undefined;
let renewal: Promise<void> | undefined;
const listeners = new Set<() => void>();

channel.onmessage = ({ data }: MessageEvent<"signedIn" | "signedOut">) => {
  if (data === "signedOut") enter({ kind: "signedOut" });
  else if (state.kind !== "signedIn") void refresh();
};

export function useSession(): SessionState {
  return useSyncExternalStore(subscribe, () => state);
}

/** Finds out whether this browser has a session. Does nothing once that is known. */
export async function startSession(): Promise<SessionState> {
  if (state.kind === "unknown") await refresh();
  return state;
}

/** A token that is valid for the next minute. Waits while the session has ended, until the person has signed in again. */
export async function currentToken(): Promise<string> {
  while (current === undefined || current.expireTime - Date.now() < RENEW_BEFORE_MS) {
    await refresh();
    if (current === undefined) await nextChange();
  }
  return current.token;
}

/** To be called when the server has refused a token that should be valid. */
export function forgetToken(token: string): void {
  if (current?.token === token) current = undefined;
}

export async function signInWithLink(secret: string): Promise<void> {
  accept(await redeemLink(secret));
  channel.postMessage("signedIn");
}

export async function signInWithCode(code: string, verifier: string): Promise<void> {
  accept(await redeemCode(code, verifier));
  channel.postMessage("signedIn");
}

export async function signOut(): Promise<void> {
  await end();
  current = undefined;
  enter({ kind: "signedOut" });
  channel.postMessage("signedOut");
}

/** One renewal at a time: all requests of the page wait for the same. */
export function refresh(): Promise<void> {
  renewal ??= renewOnce().finally(() => {
    renewal = undefined;
  });
  return renewal;
}

async function renewOnce(): Promise<void> {
  const token = await renew();
  if (token !== undefined) return accept(token);
  current = undefined;
  if (state.kind === "signedIn" || state.kind === "ended") enter({ kind: "ended", uid: state.uid });
  else enter({ kind: "signedOut" });
}

function accept(token: AccessToken): void {
  // The page shows data of another person.
  if ((state.kind === "ended" || state.kind === "signedIn") && state.uid !== token.uid) location.reload();
  current = token;
  if (state.kind !== "signedIn") enter({ kind: "signedIn", uid: token.uid });
}

function enter(next: SessionState): void {
  state = next;
  if (next.kind === "signedOut") current = undefined;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function nextChange(): Promise<void> {
  return new Promise((resolve) => {
    const stop = subscribe(() => {
      stop();
      resolve();
    });
  });
}
