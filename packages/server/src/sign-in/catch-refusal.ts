/** Turns errors of a sign-in into results: a redirect to the waiting program, or else a page for the person. */
import type { Log } from "../lib/log.ts";
import { refusalFrom, type SignInRefusal } from "./refusal.ts";
import type { Goal } from "./request.ts";
import { withError } from "./return-url.ts";

export type Refused = { readonly kind: "return"; readonly url: string } | { readonly kind: "refused"; readonly refusal: SignInRefusal };

/** @param work calls `knowGoal` once it knows the goal of the sign-in, so that errors reach the waiting program */
export async function catchRefusal<T>(log: Log, work: (knowGoal: (goal: Goal | undefined) => void) => Promise<T>): Promise<T | Refused> {
  const known: { goal?: Goal | undefined } = {};
  try {
    return await work((goal) => {
      known.goal = goal;
    });
  } catch (error) {
    const refusal = refusalFrom(error, log);
    const { goal } = known;
    log.info({ status: refusal.status, goal: goal?.kind }, "a sign-in was refused");
    return goal?.kind === "program" ? { kind: "return", url: withError(goal.returnUrl, refusal) } : { kind: "refused", refusal };
  }
}
