/** A sign-in that goes no further: what the person is told, in words that say what to do next, and nothing about who or what exists here. */
import { Code, HoltError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

export class SignInRefusal extends Error {
  override readonly name = "SignInRefusal";
  /** As HTTP has it. */
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const STATUS: Partial<Record<Code, number>> = {
  [Code.INVALID_ARGUMENT]: 400,
  [Code.FAILED_PRECONDITION]: 400,
  [Code.UNAUTHENTICATED]: 401,
  [Code.PERMISSION_DENIED]: 403,
  [Code.NOT_FOUND]: 404,
  [Code.RESOURCE_EXHAUSTED]: 429,
  [Code.UNAVAILABLE]: 503,
};

/** What nobody foresaw goes to the log and tells the person nothing. */
export function refusalFrom(error: unknown, log: Log): SignInRefusal {
  if (error instanceof SignInRefusal) return error;
  const status = error instanceof HoltError ? STATUS[error.code] : undefined;
  if (error instanceof HoltError && status !== undefined) return new SignInRefusal(status, sentence(error.message));
  log.error({ err: error }, "a sign-in failed");
  return new SignInRefusal(500, "Something went wrong on this server. Try again; if it stays like this, tell whoever runs it.");
}

/** Without the word for the code, which is for programs. */
function sentence(message: string): string {
  const text = message.replace(
    /^(?:Unauthenticated|Permission denied|Invalid argument|Not found|Precondition failed|Resource exhausted|Unavailable): /,
    "",
  );
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
