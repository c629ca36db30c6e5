/**
 * Holds the access token of this page in memory, and renews it before it expires. When the session has ended, requests
 * wait until the person has signed in again in another tab, so that no input is lost.
 */
import { useSyncExternalStore } from "react";
import { type AccessToken, end, redeemCode, redeemLink, renew } from "./session-endpoint.ts";

export type SessionState =
  | { readonly kind: "unknown" }
  | { readonly kind: "signedOut" }
  | { readonly kind: "signedIn" }
  /** The session is over; the page still shows what the person did. */
  | { readonly kind: "ended" };

/** A token is renewed this long before it expires, so that it does not expire on its way. */
const RENEW_BEFORE_MS = 60_000;

/** Tells the other tabs of this browser about sign-ins and sign-outs. */
const channel = new BroadcastChannel("holt-session");

let state: SessionState = { kind: "unknown" };
let current: AccessToken | undefined;
/** The uid of the person whose data the page shows, also after a sign-out. */
let person: string | undefined;
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
  enter({ kind: state.kind === "signedIn" || state.kind === "ended" ? "ended" : "signedOut" });
}

function accept(token: AccessToken): void {
  person ??= token.uid;
  if (person !== token.uid) {
    // Waiting requests of the earlier person stay unsent, also while the browser asks whether to discard a form.
    current = undefined;
    location.reload();
    return;
  }
  current = token;
  if (state.kind !== "signedIn") enter({ kind: "signedIn" });
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
