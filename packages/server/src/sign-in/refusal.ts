/** Errors that end a sign-in. Their messages tell the person what to do next, and nothing about which accounts or organizations exist. */
import { httpStatusOf, isServerFault, type StatusOverrides } from "../http/error-status.ts";
import { Code, HoltError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

export class SignInRefusal extends Error {
  override readonly name = "SignInRefusal";
  /** The HTTP status. */
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const LOST_SIGN_IN =
  "This browser did not begin this sign-in, or the sign-in took too long or is already finished. " +
  "Start again from where you began, in this same browser, and allow cookies of this site.";

export const LOST_STEP =
  "This page is too old, was used already, or was opened in another browser. Start again from where you began, and allow cookies of this site.";

/** The person cannot resolve a conflict between transactions, so the page says only that something went wrong. */
const STATUS_OVERRIDES: StatusOverrides = { [Code.ABORTED]: 500 };

/** Unexpected errors go to the log, and the person learns nothing about them. */
export function refusalFrom(error: unknown, log: Log): SignInRefusal {
  if (error instanceof SignInRefusal) return error;
  const status = error instanceof HoltError ? httpStatusOf(error, STATUS_OVERRIDES) : 500;
  if (error instanceof HoltError && !isServerFault(status)) return new SignInRefusal(status, sentenceOf(error.message));
  log.error({ err: error }, "a sign-in failed");
  return new SignInRefusal(500, "Something went wrong on this server. Try again; if the problem persists, tell its administrator.");
}

/** The message as a sentence, without the name of its code, which is for programs. */
function sentenceOf(message: string): string {
  const text = message.replace(
    /^(?:Unauthenticated|Permission denied|Invalid argument|Not found|Precondition failed|Resource exhausted|Unavailable): /,
    "",
  );
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
