/** Turns errors of a sign-in into results: a redirect to the waiting program, or else a page for the person. */
import type { Log } from "../lib/log.ts";
import { refusalFrom, type SignInRefusal } from "./refusal.ts";
import type { Goal } from "./request.ts";
import { withError } from "./return-url.ts";

export type Refused = { readonly kind: "return"; readonly url: string } | { readonly kind: "refused"; readonly refusal: SignInRefusal };

/** @param currentGoal the goal as far as it is known when the error is thrown */
export async function catchRefusal<T>(log: Log, currentGoal: () => Goal | undefined, work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    const refusal = refusalFrom(error, log);
    const goal = currentGoal();
    log.info({ status: refusal.status, goal: goal?.kind }, "a sign-in was refused");
    return goal?.kind === "program" ? { kind: "return", url: withError(goal.returnUrl, refusal) } : { kind: "refused", refusal };
  }
}
