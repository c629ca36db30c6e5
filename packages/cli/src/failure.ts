/** Failures of commands and the exit statuses that tell scripts what happened. */

/** Exit statuses by kind. Documented in docs/cli.md. */
export const exitStatus = {
  ok: 0,
  failed: 1,
  usage: 2,
  signedOut: 3,
  denied: 4,
  notFound: 5,
  conflict: 6,
  precondition: 7,
  invalid: 8,
  unavailable: 9,
  exhausted: 10,
  interrupted: 130,
} as const;

export const exitStatusMeanings: Readonly<Record<keyof typeof exitStatus, string>> = {
  ok: "the command succeeded",
  failed: "any other failure",
  usage: "the command line is wrong; nothing was sent",
  signedOut: "not signed in, or the token is no longer valid",
  denied: "a capability is missing, or `holt can` answers no",
  notFound: "the resource does not exist or is not visible",
  conflict: "the resource exists already, or changed meanwhile",
  precondition: "the server refuses because of the state of a resource",
  invalid: "the server refuses a value",
  unavailable: "the server cannot be reached, is not ready or does not answer in time",
  exhausted: "a limit is reached; try again later",
  interrupted: "interrupted with Ctrl-C",
};

export interface FailureOptions {
  /** One line that says what to do. */
  readonly advice?: string;
  readonly status?: number;
  /** Lines that `--verbose` prints. */
  readonly details?: readonly string[];
  readonly cause?: unknown;
}

/** A failure that the command explains itself. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly advice: string | undefined;
  readonly status: number;
  readonly details: readonly string[];
  constructor(message: string, { advice, status = exitStatus.failed, details = [], cause }: FailureOptions = {}) {
    super(message, { cause });
    this.advice = advice;
    this.status = status;
    this.details = details;
  }
}

export function usageFailure(message: string, advice?: string): Failure {
  return new Failure(message, { status: exitStatus.usage, ...(advice !== undefined && { advice }) });
}
